// A tool with a few options.
#include "CLI/CLI.hpp"
#include <iostream>

int main(int argc, char **argv)
{
    CLI::App app{"tool"};
    int number = 0;
    std::string name = "none";
    bool verbose = false;
    app.add_option("-n,--number", number);
    app.add_option("--name", name);
    app.add_flag("-v,--verbose", verbose);
    CLI11_PARSE(app, argc, argv);
    std::cout << number << " " << name << " " << verbose << "\n";
}

// Reads XML from standard input and prints it again.
#include "pugixml.hpp"
#include <iostream>

int main()
{
    pugi::xml_document document;
    pugi::xml_parse_result result = document.load(std::cin, pugi::parse_full);
    if (!result) {
        std::cout << result.description() << " at " << result.offset << "\n";
        return 1;
    }
    document.save(std::cout, " ", pugi::format_raw);
}

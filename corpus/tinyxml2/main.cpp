// Reads XML from standard input and prints it again.
#include "tinyxml2.h"
#include <iostream>
#include <iterator>
#include <string>

int main()
{
    std::string text((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
    tinyxml2::XMLDocument document;
    if (document.Parse(text.c_str(), text.size()) != tinyxml2::XML_SUCCESS) {
        std::cout << document.ErrorName() << " in line " << document.ErrorLineNum() << "\n";
        return 1;
    }
    tinyxml2::XMLPrinter printer;
    document.Print(&printer);
    std::cout << printer.CStr();
    if (const tinyxml2::XMLElement *root = document.RootElement()) {
        int number = 0;
        if (root->QueryIntText(&number) == tinyxml2::XML_SUCCESS)
            std::cout << "number " << number << "\n";
    }
}

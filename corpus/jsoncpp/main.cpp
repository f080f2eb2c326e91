// Reads JSON from standard input and prints it again.
#include "json/json.h"
#include <iostream>

int main()
{
    Json::CharReaderBuilder reader;
    Json::Value value;
    std::string errors;
    try {
        if (!Json::parseFromStream(reader, std::cin, &value, &errors)) {
            std::cout << errors;
            return 1;
        }
    } catch (const std::exception &error) {
        std::cout << "exception: " << error.what() << "\n";
        return 2;
    }
    Json::StreamWriterBuilder writer;
    writer["indentation"] = "";
    std::cout << Json::writeString(writer, value) << "\n";
}

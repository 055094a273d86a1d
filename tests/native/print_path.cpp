// Prints the folder that each resource location names, for Windows ("w") or other systems ("u"); or what is refused.
#include <cstdio>
#include <cstring>

#include "blob.hpp"
#include "fmi/resources.hpp"

int main(int count, char** arguments) {
    const bool windows = count > 1 && std::strcmp(arguments[1], "w") == 0;
    for (int i = 2; i < count; ++i) try {
            std::printf("%s\n", mbd::path_of(arguments[i], windows).c_str());
        } catch (const mbd::ModelError& error) {
            std::printf("%s\n", error.what());
        }
}

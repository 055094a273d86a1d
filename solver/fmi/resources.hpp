// The files of resources/, wherever an importer has unpacked them; knows neither FMI functions nor what is in a file.
//
// FMI 2.0 [2.1.5] names the folder by a file URI (RFC 3986, RFC 8089), FMI 3.0 by a path; both are UTF-8. Taken are
// file:///folder, file:/folder, file://localhost/folder, on Windows file:///C:/folder and file://server/share too,
// and plain paths.
#pragma once
#include <string>
#include <vector>

namespace mbd {

#if defined(_WIN32)
constexpr bool on_windows = true;
#else
constexpr bool on_windows = false;
#endif

// The folder's path, UTF-8, without a slash at its end; ModelError where `location` names none.
std::string path_of(const std::string& location, bool windows = on_windows);

// The contents of the file `name` in the folder at `location`; ModelError names the path and what is wrong.
std::vector<unsigned char> read_resource(const std::string& location, const std::string& name);

}  // namespace mbd

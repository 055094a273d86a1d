# `make native-binaries`: the library of exported FMUs for every platform that an FMU may carry, made on any machine by
# ziglang (PyPI), from the sources and with the flags of the core. Knows nothing of Python but how ziglang is called.
# zig keeps compiled files by their contents, so that a second run compiles what has changed only.
set(PORTABLE_FOLDER ${CMAKE_SOURCE_DIR}/build/native)
file(GLOB_RECURSE PORTABLE_INPUTS CONFIGURE_DEPENDS solver/*.cpp solver/*.hpp solver/*.h)
list(FILTER PORTABLE_INPUTS EXCLUDE REGEX "/bindings[^/]*$")
list(APPEND PORTABLE_INPUTS ${EXPORTS} ${CMAKE_CURRENT_LIST_FILE})
get_target_property(EIGEN_FOLDER Eigen3::Eigen INTERFACE_INCLUDE_DIRECTORIES)

# -fno-sanitize: zig switches checks on in some modes, which would need a runtime.
set(PORTABLE_FLAGS -std=c++17 ${NUMERIC_FLAGS} -DNDEBUG -g0 -fPIC -fvisibility=hidden -fvisibility-inlines-hidden
    -fno-sanitize=all -ffunction-sections -fdata-sections -isystem ${EIGEN_FOLDER} -I ${CMAKE_SOURCE_DIR}/solver)

# `platform`: its name in FMI 2.0 [2.2]; `target`: its name in zig; then options of its linker.
function(add_portable platform target suffix)
    set(library ${PORTABLE_FOLDER}/${platform}/mbdfmu_fmi${suffix})
    set(scratch ${CMAKE_BINARY_DIR}/portable/${platform}) # what fails or is stopped half way stays here
    add_custom_command(
        OUTPUT ${library}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${scratch} ${PORTABLE_FOLDER}/${platform}
        COMMAND ${Python_EXECUTABLE} -m ziglang c++ -target ${target} ${PORTABLE_FLAGS} -shared -s
                ${CORE_SOURCES} ${FMI_SOURCES} ${ARGN} -o ${scratch}/mbdfmu_fmi${suffix}
        COMMAND ${CMAKE_COMMAND} -E rename ${scratch}/mbdfmu_fmi${suffix} ${library}
        DEPENDS ${PORTABLE_INPUTS}
        COMMENT "FMI library for ${platform}"
        VERBATIM)
    set(PORTABLE_LIBRARIES ${PORTABLE_LIBRARIES} ${library} PARENT_SCOPE)
endfunction()

# glibc 2.17 is of 2012: older than any system that is still maintained. 11.0 is the first macOS for both processors.
set(ELF -Wl,--version-script=${EXPORTS} -Wl,-Bsymbolic -Wl,-z,now -Wl,--gc-sections)
set(MACH_O -Wl,-dead_strip -Wl,-install_name,@rpath/mbdfmu_fmi.dylib)
add_portable(linux64 x86_64-linux-gnu.2.17 .so ${ELF})
add_portable(aarch64-linux aarch64-linux-gnu.2.17 .so ${ELF})
add_portable(win64 x86_64-windows-gnu .dll -Wl,--gc-sections)
add_portable(darwin64 x86_64-macos.11.0 .dylib ${MACH_O})
add_portable(aarch64-darwin aarch64-macos.11.0 .dylib ${MACH_O})
add_custom_target(native_binaries DEPENDS ${PORTABLE_LIBRARIES})

# What stands there is installed too. An editable install keeps the library that this machine's compiler has made, whose
# bits are those of `simulate`; a wheel, which travels, takes the portable one, but not one that tests with sanitizers.
set(KEPT ${PLATFORM})
if(SKBUILD_STATE STREQUAL "wheel" AND NOT MBDFMU_SANITIZE)
    set(KEPT "")
endif()
install(CODE "set(LIBRARIES \"${PORTABLE_LIBRARIES}\")\nset(INPUTS \"${PORTABLE_INPUTS}\")\nset(KEPT \"${KEPT}\")")
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/install_portable.cmake)

import CSDL

/// SDL 2, which is loaded at run time when a window is opened. Programs without a window do not need it.
struct SDLLibrary: @unchecked Sendable {  // initialized before it is shared
    let calls: csdl_library

    /// The library; nil if it cannot be loaded for the reason in `missing`.
    static let shared: SDLLibrary? = loaded.library

    /// The dynamic linker's error; empty if the library was loaded.
    static let missing: String = loaded.reason

    private static let loaded: (library: SDLLibrary?, reason: String) = {
        var calls = csdl_library()
        var reason: UnsafePointer<CChar>?
        guard csdl_load(&calls, &reason) == 1 else {
            return (nil, reason.map { String(cString: $0) } ?? "libSDL2-2.0.so.0 cannot be loaded")
        }
        return (SDLLibrary(calls: calls), "")
    }()

    /// SDL's error of the last call that failed on this thread.
    var reason: String { calls.GetError().map { String(cString: $0) } ?? "" }
}

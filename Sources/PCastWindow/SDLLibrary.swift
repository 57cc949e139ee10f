import CSDL

/// SDL 2, looked for when a window is first wanted, so that programs without one neither need nor load it.
struct SDLLibrary: @unchecked Sendable {  // written once, before anyone has it
    let calls: csdl_library

    /// Nil where it is not there; `missing` says why.
    static let shared: SDLLibrary? = loaded.library

    /// What the dynamic linker says, where it is not there.
    static let missing: String = loaded.reason

    private static let loaded: (library: SDLLibrary?, reason: String) = {
        var calls = csdl_library()
        var reason: UnsafePointer<CChar>?
        guard csdl_load(&calls, &reason) == 1 else {
            return (nil, reason.map { String(cString: $0) } ?? "libSDL2-2.0.so.0 cannot be loaded")
        }
        return (SDLLibrary(calls: calls), "")
    }()

    /// What SDL says of the last call that failed on this thread.
    var reason: String { calls.GetError().map { String(cString: $0) } ?? "" }
}

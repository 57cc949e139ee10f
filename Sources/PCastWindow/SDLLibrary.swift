import CSDL
import Synchronization

/// SDL 2, which is loaded at run time when a window is opened. Programs without a window do not need it.
///
/// An SDL whose X server has ended can never be called again. Then a copy of the library is loaded, which has a state of
/// its own.
///
/// It is a class, because Swift 6.3.1 initializes a global optional structure of C functions as one with null functions, and
/// not as nil, in optimized builds. It is `@unchecked Sendable` because the functions do not change.
final class SDLLibrary: @unchecked Sendable {
    private struct State {
        /// The library that is used; nil before the first use, and after its display was lost.
        var library: SDLLibrary?
        /// The number of libraries whose display was lost. Each keeps its memory and a thread.
        var lost = 0
    }

    /// The most displays that a process may lose.
    static let maximumLosses = 32

    let calls: csdl_library

    /// Whether it replaces a library whose display was lost. A thread of that library may hold locks of OpenGL forever.
    let isCopy: Bool

    private static let state = Mutex(State())

    private init(calls: csdl_library, isCopy: Bool) { (self.calls, self.isCopy) = (calls, isCopy) }

    /// Whether the library is installed.
    static var isInstalled: Bool { (try? current()) != nil }

    /// Returns the library, which is loaded if necessary. Throws a `WindowError` if it is not installed, or if too many
    /// displays were lost.
    static func current() throws(WindowError) -> SDLLibrary {
        let result: Result<SDLLibrary, WindowError> = state.withLock { state in
            if let library = state.library { return .success(library) }
            guard state.lost < maximumLosses else { return .failure(.displayLost) }
            var calls = csdl_library()
            var reason: UnsafePointer<CChar>?
            let isCopy = state.lost > 0
            let isLoaded = isCopy ? csdl_load_copy(&calls, Int32(state.lost), &reason) : csdl_load(&calls, &reason)
            guard isLoaded == 1 else {
                return .failure(
                    .missing(reason.map { String(cString: $0) } ?? "libSDL2-2.0.so.0 cannot be loaded"))
            }
            let library = SDLLibrary(calls: calls, isCopy: isCopy)
            state.library = library
            return .success(library)
        }
        return try result.get()
    }

    /// Records that the library lost its X server and must not be called again.
    static func abandon() {
        state.withLock { state in
            state.library = nil
            state.lost += 1
        }
    }

    /// SDL's error of the last call that failed on this thread.
    var reason: String { calls.GetError().map { String(cString: $0) } ?? "" }
}

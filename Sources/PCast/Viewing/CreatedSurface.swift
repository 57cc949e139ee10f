import PCastCore
import PCastRendering
import PCastWindow
import Synchronization

/// The surface of a renderer to which the application gave none: a window if a display is available, else memory.
///
/// A window that is lost, and that neither the person nor the application closed, is opened again. If that is
/// impossible, e.g. after the end of the X server, a ``MemorySurface`` replaces it.
final class CreatedSurface: Sendable {
    private struct State {
        var window: VideoWindow?
        var task: Task<Void, Never>?
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Creates the surface.
    ///
    /// - Parameters:
    ///   - arrangement: The arrangement of frames on the surface.
    ///   - attach: A function that receives each surface before it is delivered, and makes the renderer use it.
    ///   - deliver: A function that receives the surface each time that it becomes ready.
    init(
        _ arrangement: FrameArrangement, attach: @escaping @Sendable (any RenderSurface) -> Void,
        deliver: @escaping @Sendable (any RenderSurface) -> Void
    ) {
        let task = Task { [weak self] in
            let window = VideoWindow(WindowOptions(arrangement: arrangement))
            guard self?.adopt(window) == true else { return }
            let events = window.events
            if await Self.open(window) {
                attach(window)
                await Self.follow(window, events, deliver)
            }
            guard !Task.isCancelled else { return }
            let memory = MemorySurface(arrangement: window.arrangement)
            attach(memory)
            deliver(memory)
        }
        state.withLock { state in
            state.task = task
            if state.isClosed { task.cancel() }
        }
    }

    deinit { close() }

    /// Closes the window. It has no effect when it is called again.
    func close() {
        let (window, task) = state.withLock { state in
            state.isClosed = true
            defer { (state.window, state.task) = (nil, nil) }
            return (state.window, state.task)
        }
        task?.cancel()
        window?.close()
    }

    /// Sets the window. Returns false if the surface was closed meanwhile.
    private func adopt(_ window: VideoWindow) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.window = window
            return true
        }
    }

    /// Opens the window. Returns false if that fails.
    private static func open(_ window: VideoWindow) async -> Bool {
        do throws(WindowError) {
            try await window.open()
        } catch {
            return false
        }
        // A concurrent close may not have found an open window.
        if Task.isCancelled { window.close() }
        return true
    }

    /// Delivers a window each time that it is ready, and opens it again after an interruption. Returns when that fails.
    private static func follow(
        _ window: VideoWindow, _ events: AsyncStream<SurfaceEvent>,
        _ deliver: @escaping @Sendable (any RenderSurface) -> Void
    ) async {
        var shown = -1
        for await event in events {
            guard !Task.isCancelled else { return }
            switch event {
            case .ready: deliver(window)
            case .lost where window.isOpenRequested:
                // A window that has shown nothing since the last interruption cannot show anything.
                let count = window.statistics.framesShown
                guard count > shown, await open(window) else { return }
                shown = count
            default: break
            }
        }
    }
}

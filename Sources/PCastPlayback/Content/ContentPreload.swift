import PCastCore
import PCastIO
import Synchronization

/// A content that is opened, and read until there is enough to begin with, before anybody plays it: what is asked for first
/// is there then.
///
/// Begins on a thread of its own, which whoever opens it waits for; from then on it is the content itself.
final class ContentPreload: PlaybackContent {
    private struct State {
        /// Where it stands; nil before it was opened, or when that was left off.
        var opened: Result<TimeSpan, PlaybackError>?
        var items: [ContentItem] = []
        /// How many of them were given out.
        var given = 0
        var isLoading = true
        /// Somebody plays it, or nobody will: nothing more is loaded by its own thread.
        var isOver = false
    }

    private let content: any PlaybackContent
    private let state = Mutex(State())
    private let wait = ReaderWait()
    private let thread = Mutex<WorkerThread?>(nil)

    /// Begins to load.
    ///
    /// - Parameter content: not open yet.
    /// - Throws: when no thread can be had.
    init(_ content: any PlaybackContent) throws(IOError) {
        self.content = content
        let worker = try WorkerThread(name: "preload-media") { [self] in load() }
        thread.withLock { $0 = worker }
    }

    /// Whether it is worth being played: live media that were opened a while ago are not where they should be, and what could
    /// not be had then may be had now.
    var isUsable: Bool {
        if case .failure? = state.withLock({ $0.opened }) { return false }
        return content.overview?.kind != .live
    }

    private func load() {
        defer {
            state.withLock { $0.isLoading = false }
            wait.raise()
        }
        do throws(PlaybackError) {
            let position = try content.open()
            state.withLock { $0.opened = .success(position) }
        } catch {
            if error != .interrupted { state.withLock { $0.opened = .failure(error) } }
            return
        }
        guard let overview = content.overview, overview.kind != .live else { return }
        var pictures = VideoQueue()
        var sounds = AudioQueue()
        while !state.withLock({ $0.isOver }) {
            let isFull =
                overview.has(.video) ? pictures.count >= VideoQueue.high : sounds.length >= AudioQueue.high
            if isFull || pictures.isAtLimit || sounds.isAtLimit { return }
            // What cannot be read is found again by whoever plays it.
            guard let item = try? content.read() else { return }
            switch item {
            case .picture(let frame, let position, let duration):
                pictures.append(frame, at: position, duration: duration)
            case .sound(let frame, let position): sounds.append(frame, at: position)
            case .subtitle, .metadata, .overview: break
            }
            state.withLock { $0.items.append(item) }
        }
    }

    // MARK: What is played

    var overview: ContentOverview? { content.overview }

    var bufferedPosition: TimeSpan? { content.bufferedPosition }

    func open() throws(PlaybackError) -> TimeSpan {
        state.withLock { $0.isOver = true }
        let isThere = wait.wait { state.withLock { $0.isLoading } ? nil : true }
        guard isThere != nil else {
            _ = wait.takeInterruption()
            throw .interrupted
        }
        let opened = state.withLock { state in
            defer { state.opened = nil }
            return state.opened
        }
        guard let opened else { return try content.open() }
        return try opened.get()
    }

    func read() throws(PlaybackError) -> ContentItem? {
        let item = state.withLock { state -> ContentItem? in
            guard state.given < state.items.count else { return nil }
            defer { state.given += 1 }
            return state.items[state.given]
        }
        if let item { return item }
        forget()
        return try content.read()
    }

    private func forget() {
        state.withLock { state in
            state.items = []
            state.given = 0
        }
    }

    func seek(to position: TimeSpan) throws(PlaybackError) -> TimeSpan {
        forget()
        return try content.seek(to: position)
    }

    func select(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind) throws(PlaybackError) {
        try content.select(track, of: kind)
    }

    func interrupt() {
        wait.interrupt()
        content.interrupt()
    }

    func close() {
        state.withLock { $0.isOver = true }
        interrupt()
        thread.withLock { $0 }?.join()
        forget()
        content.close()
    }
}

internal import PCastCodecs
package import PCastCore
import PCastIO
import Synchronization

/// Content that is opened before it is played, and read until playback can begin. Its first frames are then available
/// at once.
///
/// A thread preloads it, and `open()` waits for that thread. Afterwards all calls reach the content itself.
final class ContentPreload: PlaybackContent {
    private struct State {
        /// The result of opening with the start position; nil before, and if opening was interrupted.
        var opened: Result<TimeSpan, PlaybackError>?
        /// The items that were read.
        var items: [ContentItem] = []
        /// The number of items that were delivered.
        var given = 0
        var isLoading = true
        /// Whether the content is played or was cancelled, which ends the preloading.
        var isOver = false
    }

    private let content: any PlaybackContent
    private let state = Mutex(State())
    private let wait = ReaderWait()
    private let thread = Mutex<WorkerThread?>(nil)

    /// Begins to preload content that is not open yet. Throws an ``IOError`` if a thread cannot be created.
    init(_ content: any PlaybackContent) throws(IOError) {
        self.content = content
        let worker = try WorkerThread(name: "preload-media") { [self] in load() }
        thread.withLock { $0 = worker }
    }

    /// Whether the preloaded content can be played. Live content would begin too far from the edge. Content that failed
    /// to open may succeed now.
    var isUsable: Bool {
        if case .failure? = state.withLock({ $0.opened }) { return false }
        return content.overview?.kind != .live
    }

    /// Opens and reads the content on the thread.
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
        var videoQueue = VideoQueue()
        var audioQueue = AudioQueue()
        while !state.withLock({ $0.isOver }) {
            let isFull =
                overview.has(.video) ? videoQueue.count >= VideoQueue.high : audioQueue.length >= AudioQueue.high
            if isFull || videoQueue.isAtLimit || audioQueue.isAtLimit { return }
            // The player reads again and detects the failure.
            guard let item = try? content.read() else { return }
            switch item {
            case .frame(let frame, let position, let duration):
                videoQueue.append(frame, at: position, duration: duration)
            case .audio(let frame, let position): audioQueue.append(frame, at: position)
            case .subtitle, .metadata, .overview: break
            }
            state.withLock { $0.items.append(item) }
        }
    }

    // MARK: Content

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
        discard()
        return try content.read()
    }

    /// Removes the items.
    private func discard() {
        state.withLock { state in
            state.items = []
            state.given = 0
        }
    }

    func seek(to position: TimeSpan) throws(PlaybackError) -> TimeSpan {
        discard()
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
        discard()
        content.close()
    }
}

/// An item that content delivers: a frame, audio, or information at a position.
package enum ContentItem: Sendable {
    /// A video frame, with its duration if it is known.
    case frame(VideoFrame, at: TimeSpan, duration: TimeSpan?)
    /// Audio at 48 kHz with one or two channels.
    case audio(AudioFrame, at: TimeSpan)
    /// A subtitle and the range in which it is displayed. An empty text ends the current subtitle.
    case subtitle(String, ClosedRange<TimeSpan>)
    /// Metadata at a position: an ID3 tag, an event message or a date range.
    case metadata(TimedMetadata)
    /// A change of the properties, such as a live window that advanced or a corrected duration.
    case overview(ContentOverview)
}

extension ContentItem {
    /// Creates an item from a decoded sample; nil for metadata.
    init?(_ sample: PresentationSample) {
        switch sample {
        case .frame(let frame, let position, let duration):
            self = .frame(frame, at: position, duration: duration)
        case .audio(let audio, let position): self = .audio(audio, at: position)
        case .text(let text, let range): self = .subtitle(text, range)
        case .metadata: return nil
        }
    }
}

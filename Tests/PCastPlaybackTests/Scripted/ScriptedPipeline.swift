import PCastCore
import Synchronization
import Testing

@testable import PCastPlayback

/// A pipeline whose media and time the test controls. A real ``PlayheadClock`` computes the playback position.
final class ScriptedPipeline: PlaybackPipeline {
    private struct State {
        var clock = PlayheadClock(at: Instant(nanoseconds: 0))
        var now = Instant(nanoseconds: 0)
        var calls: [String] = []
        var isMuted = false
        var volume = 1.0
        var isStopped = false
    }

    let source: Source
    private let handler: PipelineFactory.Handler
    private let state: Mutex<State>

    init(_ source: Source, _ handler: @escaping PipelineFactory.Handler) {
        self.source = source
        self.handler = handler
        var state = State()
        _ = state.clock.begin(now: state.now)
        self.state = Mutex(state)
    }

    // MARK: Calls of the player

    /// The calls in order.
    var calls: [String] { state.withLock { $0.calls } }
    var isStopped: Bool { state.withLock { $0.isStopped } }
    var isSetToPlay: Bool { state.withLock { $0.clock.isPlaying } }
    var playhead: Playhead { state.withLock { $0.clock.playhead(at: $0.now) } }
    var bufferedPosition: TimeSpan? { TimeSpan(playhead.position) + .seconds(5) }
    var lastFrame: VideoFrame? { nil }

    private func called<Value>(_ name: String, _ body: (inout PlayheadClock, Instant) -> Value) -> Value {
        state.withLock { state in
            precondition(!state.isStopped, "\(name) after stop")
            state.calls.append(name)
            return body(&state.clock, state.now)
        }
    }

    func play() { called("play") { $0.play(at: $1) } }
    func pause() { called("pause") { $0.pause(at: $1) } }
    func setRate(_ rate: Double) { called("rate \(rate)") { $0.setRate(rate, at: $1) } }
    func seek(to position: TimeSpan) -> PlayheadEpoch {
        called("seek \(position.seconds)") { $0.seek(to: position, at: $1) }
    }
    func seek(to wallTime: WallTime) -> PlayheadEpoch? {
        called("seek to \(wallTime.nanosecondsSinceEpoch / 1_000_000)") { $0.seek(to: wallTime, at: $1) }
    }
    func select(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind) {
        called("select \(kind) \(track?.rawValue ?? "none")") { _, _ in }
    }
    var isMuted: Bool {
        get { state.withLock { $0.isMuted } }
        set { state.withLock { $0.isMuted = newValue } }
    }
    var volume: Double {
        get { state.withLock { $0.volume } }
        set { state.withLock { $0.volume = newValue } }
    }
    func stop() { state.withLock { $0.isStopped = true } }

    // MARK: Events of the test

    /// Emits an event of the current epoch or of another one, even after a stop, as events that were on their way.
    func notify(_ kind: PipelineEvent.Kind, of epoch: PlayheadEpoch? = nil) {
        let now = state.withLock { $0.clock.epoch }
        handler(PipelineEvent(kind, of: epoch ?? now))
    }

    func open(_ overview: ContentOverview) {
        state.withLock { state in
            state.clock.setSeekableRange(overview.seekableRange, of: state.clock.epoch)
            state.clock.anchor(state.clock.epoch) { anchors in
                for anchor in overview.anchors { anchors.add(anchor) }
            }
        }
        notify(.overview(overview))
    }

    /// Shows the first frame of the epoch at the playhead or at another position.
    func completeSeek(at position: TimeSpan? = nil) {
        let landed = state.withLock { state in
            let landed = position ?? TimeSpan(state.clock.playhead(at: state.now).position)
            state.clock.show(landed, of: state.clock.epoch, at: state.now)
            return landed
        }
        notify(.landed(landed))
        notify(.buffering(false))
    }

    /// Shows the first frame of the epoch, while no data after it is present.
    func arrive() {
        let position = state.withLock { state in
            let position = TimeSpan(state.clock.playhead(at: state.now).position)
            state.clock.show(position, of: state.clock.epoch, at: state.now)
            _ = state.clock.setBuffering(true, of: state.clock.epoch, at: state.now)
            return position
        }
        notify(.arrived(position))
    }

    /// Lets time pass with a frame every tenth of a second. Frames advance if it plays.
    func run(_ seconds: Double) {
        for _ in 0..<Int((seconds * 10).rounded()) {
            let playhead = state.withLock { state in
                state.now = state.now + .milliseconds(100)
                return state.clock.playhead(at: state.now)
            }
            if playhead.rate > 0 { notify(.position(TimeSpan(playhead.position))) }
        }
    }

    func end() {
        state.withLock { $0.clock.pause(at: $0.now) }
        notify(.ended)
    }

    func starve() {
        state.withLock { state in
            _ = state.clock.setBuffering(true, of: state.clock.epoch, at: state.now)
        }
        notify(.buffering(true))
    }

    func feed() {
        state.withLock { state in
            _ = state.clock.setBuffering(false, of: state.clock.epoch, at: state.now)
        }
        notify(.buffering(false))
    }
}

/// Creates scripted pipelines and keeps all of them.
final class ScriptedPipelines: Sendable {
    private let made = Mutex<[ScriptedPipeline]>([])
    private let overlaps = Atomic(0)

    /// Whether each pipeline was stopped before the next was created.
    var haveNeverOverlapped: Bool { overlaps.load(ordering: .relaxed) == 0 }

    /// The factory, which rejects addresses that contain "broken".
    var factory: PipelineFactory {
        PipelineFactory { source, handler throws(PlaybackError) in
            if source.address.contains("broken") { throw .unsupportedAddress(source.address) }
            let pipeline = ScriptedPipeline(source, handler)
            self.made.withLock { made in
                if !made.allSatisfy(\.isStopped) { self.overlaps.add(1, ordering: .relaxed) }
                made.append(pipeline)
            }
            return pipeline
        }
    }

    var all: [ScriptedPipeline] { made.withLock { $0 } }

    /// Returns the newest pipeline after all requests have been processed.
    func last(_ player: Player) async throws -> ScriptedPipeline {
        await player.settled()
        return try #require(all.last)
    }
}

extension ContentOverview {
    /// Returns an overview of audio and video of a number of seconds.
    static func film(_ seconds: Double, tracks: [ContentTrack] = [.video, .audio]) -> ContentOverview {
        let duration = TimeSpan(seconds: seconds)
        return ContentOverview(kind: .onDemand, tracks: tracks, duration: duration, seekableRange: .zero...duration)
    }
}

extension ContentTrack {
    static let video = ContentTrack(id: ID(rawValue: "v"), kind: .video)
    static let audio = ContentTrack(id: ID(rawValue: "a"), kind: .audio)
    static let subtitles = ContentTrack(id: ID(rawValue: "s"), kind: .subtitles, name: "English", language: "en")
}

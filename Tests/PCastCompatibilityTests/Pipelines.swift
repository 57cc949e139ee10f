import PCastCompatibility
import PCastCore
import Synchronization

@testable import PCastPlayback

/// Generated media for tests of the vendors' interfaces.
final class Pipelines: Sendable {
    private let made = Mutex<[Pipeline]>([])

    var factory: PipelineFactory {
        PipelineFactory { _, handler throws(PlaybackError) in
            let pipeline = Pipeline(handler)
            self.made.withLock { $0.append(pipeline) }
            return pipeline
        }
    }

    /// Returns the pipeline that the player created last.
    func last(_ player: Player) async -> Pipeline? {
        await player.settled()
        return made.withLock { $0.last }
    }
}

/// A pipeline that the test controls. Its time stands still between the test's steps.
final class Pipeline: PlaybackPipeline {
    private struct State {
        var clock = PlayheadClock(at: Instant(nanoseconds: 0))
        var now = Instant(nanoseconds: 0)
    }

    private let handler: PipelineFactory.Handler
    private let state = Mutex(State())

    init(_ handler: @escaping PipelineFactory.Handler) { self.handler = handler }

    var playhead: Playhead { state.withLock { $0.clock.playhead(at: $0.now) } }
    var bufferedPosition: TimeSpan? { nil }
    var lastFrame: VideoFrame? { nil }
    var isMuted: Bool {
        get { false }
        set {}
    }
    var volume: Double {
        get { 1 }
        set {}
    }

    func play() { state.withLock { $0.clock.play(at: $0.now) } }
    func pause() { state.withLock { $0.clock.pause(at: $0.now) } }
    func setRate(_ rate: Double) { state.withLock { $0.clock.setRate(rate, at: $0.now) } }
    func seek(to position: TimeSpan) -> PlayheadEpoch { state.withLock { $0.clock.seek(to: position, at: $0.now) } }
    func seek(to wallTime: WallTime) -> PlayheadEpoch? { state.withLock { $0.clock.seek(to: wallTime, at: $0.now) } }
    func select(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind) {}
    func stop() {}

    /// Reports an event of the present epoch.
    func notify(_ kind: PipelineEvent.Kind) {
        handler(PipelineEvent(kind, of: state.withLock { $0.clock.epoch }))
    }

    /// Its media are there: audio and frames of so many seconds, or audio alone.
    func open(seconds: Int64, isAudioOnly: Bool = false) {
        notify(.overview(overview(seconds, isAudioOnly: isAudioOnly)))
        completeSeek()
    }

    /// More was loaded: the media are so many seconds long.
    func change(duration seconds: Int64) { notify(.overview(overview(seconds))) }

    private func overview(_ seconds: Int64, isAudioOnly: Bool = false) -> ContentOverview {
        var tracks = [ContentTrack(id: .init(rawValue: "a"), kind: .audio)]
        if !isAudioOnly { tracks.insert(ContentTrack(id: .init(rawValue: "v"), kind: .video), at: 0) }
        let range = TimeSpan.zero...TimeSpan.seconds(seconds)
        state.withLock { $0.clock.setSeekableRange(range, of: $0.clock.epoch) }
        return ContentOverview(kind: .onDemand, tracks: tracks, duration: .seconds(seconds), seekableRange: range)
    }

    /// Shows the first frame at the position of a seek.
    func completeSeek() {
        let position = state.withLock { state in
            let position = TimeSpan(state.clock.playhead(at: state.now).position)
            state.clock.show(position, of: state.clock.epoch, at: state.now)
            return position
        }
        notify(.landed(position))
    }

    func run(seconds: Int64) {
        state.withLock { $0.now = $0.now + .seconds(seconds) }
        notify(.position(TimeSpan(playhead.position)))
    }

    func end() { notify(.ended) }
}

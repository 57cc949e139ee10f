import PCastCore
import PCastPlayback
import Synchronization

/// The calls that an observer and a consumer received, each as a line.
final class Transcript: PlayerObserver, PlaybackSessionConsumer {
    private let lines = Mutex<[String]>([])
    /// Whether progress and positions are lines as well.
    private let hasProgress: Bool
    private let changed: @Sendable () -> Void

    /// Creates a transcript. `changed` is called after each line.
    init(hasProgress: Bool = false, changed: @escaping @Sendable () -> Void = {}) {
        (self.hasProgress, self.changed) = (hasProgress, changed)
    }

    /// The lines that have not been taken.
    var all: [String] { lines.withLock { $0 } }

    /// Returns the lines since the last call.
    func take() -> [String] {
        lines.withLock { lines in
            defer { lines = [] }
            return lines
        }
    }

    private func say(_ line: String) {
        lines.withLock { $0.append(line) }
        changed()
    }

    // MARK: Of the player

    func playerStateChanged(_ state: PlayerState) {
        switch state {
        case .idle: say("idle")
        case .paused(let buffering): say(buffering ? "paused, buffering" : "paused")
        case .playing(let buffering): say(buffering ? "playing, buffering" : "playing")
        }
    }

    func playerError(_ error: any Error) { say("error: \(error)") }
    func playerPlaybackReady() { say("ready") }
    func playerPlaybackFinished() { say("finished") }
    func playerSubtitleChanged(_ text: String?) { say("subtitle \(text ?? "none")") }
    func playerVideoChanged(video: Video?) { say("video \(video?.sources.first?.address ?? "none")") }
    func playerDurationChanged(duration: Double) { say("duration \(duration)") }
    func playerPositionChanged(position: Double) { if hasProgress { say("position \(position)") } }
    func playerMutedChanged(muted: Bool) { say("muted \(muted)") }
    func playerAspectModeChanged(aspectMode: AspectMode) { say("aspect \(aspectMode)") }

    // MARK: Of the sessions

    func didAdvance(to session: PlaybackSession) { say("session of \(session.source?.address ?? "nothing")") }
    func session(_ session: PlaybackSession, didChangeDuration duration: Duration?) {
        say("session's duration \(duration?.seconds ?? .infinity)")
    }
    func session(_ session: PlaybackSession, didChangeExternalPlaybackActive isActive: Bool) {
        say("elsewhere \(isActive)")
    }
    func session(_ session: PlaybackSession, didPass cuePoints: CuePointPassage) {
        let points = cuePoints.cuePoints.map { "\($0.position.seconds)" }.joined(separator: " ")
        say("cue points \(points) from \(cuePoints.previous.seconds) to \(cuePoints.current.seconds)")
    }
    func session(_ session: PlaybackSession, didProgressTo progress: PlaybackProgress) {
        if hasProgress { say("progress \(progress.seconds)") }
    }
    func session(_ session: PlaybackSession, didReceive lifecycleEvent: LifecycleEvent) { say("+ \(lifecycleEvent)") }
    func session(_ session: PlaybackSession, didChangeSeekableRanges seekableRanges: [ClosedRange<Duration>]) {
        let ranges = seekableRanges.map { "\($0.lowerBound.seconds)...\($0.upperBound.seconds)" }
        say("ranges \(ranges.joined(separator: " "))")
    }
    func session(_ session: PlaybackSession, determinedMediaType mediaType: SourceMediaType) {
        say("media type \(mediaType.rawValue)")
    }
    func didCompletePlaylist(_ playlist: [Video]) { say("playlist of \(playlist.count) completed") }
}

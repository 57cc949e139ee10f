import PCastCore
import Synchronization
import Testing

@testable import PCastPlayback

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

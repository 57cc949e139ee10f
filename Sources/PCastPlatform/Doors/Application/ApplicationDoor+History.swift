import Hummingbird
import PCastMedia

/// What a stream that plays was like in the last minutes.
extension ApplicationDoor {
    private struct Sample: Encodable {
        /// UTC, milliseconds since the epoch.
        let time: Int64
        let bitrate: Int64?
        let roundTrip: Int64?
        let loss: Double
        let viewers: Int
        let dataQuality: StreamDescription.Quality

        init(_ sample: StreamHistory.Sample) {
            time = sample.time.millisecondsSinceEpoch
            bitrate = sample.bitrate?.bitsPerSecond
            roundTrip = sample.roundTrip.map { Int64($0.milliseconds) }
            loss = sample.loss
            viewers = sample.viewers
            dataQuality = StreamDescription.Quality(sample.quality)
        }
    }

    private struct History: Encodable {
        let status = "ok"
        /// Milliseconds between samples.
        let interval = Int64(StreamHistory.interval.milliseconds)
        let samples: [Sample]
    }

    /// A sample for each second, the oldest first, at most as many as are kept.
    func history(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let id = StreamID(try request.part("stream"))
        // As far as times in nanoseconds reach.
        let after = try request.number("after", 0...9_223_372_036_854, default: 0)
        guard await directory.live(id, of: request.application) != nil else { throw .notFound }
        let samples = histories.history(of: id)?.samples(after: WallTime(millisecondsSinceEpoch: after)) ?? []
        return ApplicationAnswer.json(History(samples: samples.map { Sample($0) }))
    }
}

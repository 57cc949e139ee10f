import Hummingbird
import PCastCore

/// The request for the statistics of a live stream in the last minutes.
extension ManagementAPI {
    private struct Sample: Encodable {
        /// The time in milliseconds since 1970 (UTC).
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
        /// The time between two samples in milliseconds.
        let interval = Int64(StreamHistory.interval.milliseconds)
        let samples: [Sample]
    }

    /// Returns a sample for each stored second, oldest first.
    ///
    /// - Throws: ``ApplicationFailure``.
    func history(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let id = StreamID(try request.part("stream"))
        // The limit is the range of nanoseconds in 64 bits.
        let after = try request.number("after", 0...9_223_372_036_854, default: 0)
        guard await directory.live(id, of: request.application) != nil else { throw .notFound }
        let samples = histories.history(of: id)?.samples(after: WallTime(millisecondsSinceEpoch: after)) ?? []
        return ApplicationAnswer.json(History(samples: samples.map { Sample($0) }))
    }
}

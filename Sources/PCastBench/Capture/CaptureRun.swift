import PCast
import PCastCore
import PCastDevices
import PCastIO
import PCastJSON
import Synchronization

/// Captures and encodes like a publisher, without a network, and returns the statistics.
struct CaptureRun: Sendable {
    private struct Observed: Sendable {
        var captured = 0
        var encoded = 0
        /// The times from capture to the start of encoding, in milliseconds.
        var deliveryDelays: [Double] = []
    }

    let source: any VideoSource
    let bitrate: Bitrate
    /// The time after which an endless source is stopped.
    let duration: TimeSpan
    /// Whether frames are encoded after capture.
    let encodes: Bool

    func run() async throws -> JSONObject {
        let observed = Mutex(Observed())
        let (ends, over) = AsyncStream<String?>.makeStream()
        let encoding = VideoEncoding(
            codec: .h264, bitrate: bitrate, frameRate: source.nominalFrameRate, limits: BandwidthLimits(),
            began: { frame in
                guard let captured = frame.captureTime else { return }
                let deliveryDelay = (MonotonicClock.wallTime() - captured).milliseconds
                observed.withLock { $0.deliveryDelays.append(deliveryDelay) }
            },
            encoded: { _ in observed.withLock { $0.encoded += 1 } }, failed: { over.yield($0) })
        try encoding.start()
        try source.start(
            deliver: { [encodes] sample in
                observed.withLock { $0.captured += 1 }
                if encodes { encoding.push(sample) }
            },
            ended: { end in
                if case .ended = end { over.yield(nil) } else { over.yield("\(end)") }
            })
        let timer = Task { [duration] in
            try await Task.sleep(for: .nanoseconds(duration.nanoseconds))
            over.yield(nil)
        }
        var failure: String?
        for await end in ends {
            failure = end
            break
        }
        timer.cancel()
        source.stop()
        encoding.stop()
        if let failure { throw BenchFailure(failure) }
        return observed.withLock { observed in
            var object = JSONObject()
            object["captured"] = .number(Double(observed.captured))
            object["encoded"] = .number(Double(observed.encoded))
            object["handoverP50"] = .number(Percentile.of(observed.deliveryDelays, 0.5) ?? 0)
            object["handoverP99"] = .number(Percentile.of(observed.deliveryDelays, 0.99) ?? 0)
            object["handoverMaximum"] = .number(observed.deliveryDelays.max() ?? 0)
            return object
        }
    }
}

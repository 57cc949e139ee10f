import PCastCore
import PCastRTP

extension TransportFeedbackRecorder {
    /// Returns a report that is due, as a datagram.
    mutating func report(at now: Instant) -> [UInt8]? {
        guard let deadline, deadline <= now else { return nil }
        var bytes = [UInt8](repeating: 0, count: 1200)
        let count = bytes.withUnsafeMutableBytes { buffer in
            var writer = RTCPWriter(buffer)
            while poll(into: &writer, senderSSRC: 1, mediaSSRC: 2, at: now), writer.remaining > 200 {}
            return writer.count
        }
        return Array(bytes[..<count])
    }
}

extension BandwidthEstimator {
    /// Reads the reports of a datagram.
    mutating func read(_ bytes: [UInt8], waited: TimeSpan = .zero, at now: Instant) {
        var reader = RTCPReader()
        while let packet = reader.next(in: bytes.span) {
            if case .transportFeedback(let feedback) = packet {
                receive(feedback, in: bytes.span, waited: waited, at: now)
            }
        }
    }
}

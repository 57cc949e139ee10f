import CSRTP

@testable import PCastWebRTC

/// The memory that `malloc` has in use for one end of a viewer with three streams, averaged over many.
enum SRTPFootprint {
    /// Returns the smallest of three counts of the whole process. The first count includes OpenSSL's one-time
    /// allocations.
    static func measure(profile: SRTPProfile) -> (sender: Int, receiver: Int) {
        let counts = (0..<3).map { _ in count(profile) }
        return (counts.map(\.sender).min()!, counts.map(\.receiver).min()!)
    }

    private static var bytesInUse: Int { Int(mallinfo2().uordblks) }

    private static func count(_ profile: SRTPProfile) -> (sender: Int, receiver: Int) {
        let keys = SRTPKeyingMaterial.pair(profile, seed: 1).client
        let instances = 1_000
        var senders: [SRTPSender] = []
        var receivers: [SRTPReceiver] = []
        senders.reserveCapacity(instances)
        receivers.reserveCapacity(instances)
        let before = bytesInUse
        for _ in 0..<instances {
            let sender = SRTPSender(keys)
            for ssrc in 1...3 {
                _ = sender.protect(rtp: rtpPacket(ssrc: UInt32(ssrc), sequenceNumber: 1, payload: [1]))
            }
            senders.append(sender)
        }
        let between = bytesInUse
        for _ in 0..<instances {
            let receiver = SRTPReceiver(keys)
            _ = receiver.unprotect(rtcp: rtcpPacket(ssrc: 1, content: [UInt8](repeating: 0, count: 40)))
            receivers.append(receiver)
        }
        let after = bytesInUse
        withExtendedLifetime(senders) {}
        withExtendedLifetime(receivers) {}
        return ((between - before) / instances, (after - between) / instances)
    }
}

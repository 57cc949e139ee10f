import PCastCore
import PCastWebRTC

/// Checks on everything that a viewer received, which must hold on any network.
struct ViewerRecorder {
    let viewer: CallPeer
    let broadcast: Broadcast

    /// The violations; empty if there are none.
    func offences() -> [String] {
        var offences = order(viewer.video.map(\.frame), "picture") + order(viewer.audio, "sound")
        var previous: Int?
        for (frame, _) in viewer.video {
            let number = broadcast.number(of: frame)
            // Each frame depends on the one before it, unless it is a key frame.
            if !frame.isKeyFrame, previous == nil || number != previous.map({ $0 + 1 }) {
                offences.append("frame \(number ?? -1) came after \(previous ?? -1)")
            }
            previous = number
        }
        return offences
    }

    private func order(_ frames: [EncodedFrame], _ name: String) -> [String] {
        var offences: [String] = []
        if frames.contains(where: { broadcast.number(of: $0) == nil }) {
            offences.append("a \(name) that was never sent")
        }
        if !broadcast.keepsTime(frames) { offences.append("a \(name)'s time is not what it was") }
        let numbers = frames.compactMap { broadcast.number(of: $0) }
        for (former, latter) in zip(numbers, numbers.dropFirst()) where former >= latter {
            offences.append("\(name) \(latter) came after \(former)")
        }
        return offences
    }

    /// Returns how many of the last frames and audio packets arrived.
    func received(ofLast count: Int) -> (videoFrames: Int, audioFrames: Int) {
        let first = broadcast.sent.count - count
        func recent(_ frames: [EncodedFrame]) -> Int {
            frames.reversed().prefix { (broadcast.number(of: $0) ?? 0) >= first }.count
        }
        return (recent(viewer.video.map(\.frame)), recent(viewer.audio))
    }

    /// Returns the longest time that one of the last frames took from sending to output.
    func longestWay(ofLast count: Int) -> TimeSpan {
        let first = broadcast.sent.count - count
        return zip(viewer.video, viewer.videoTimes).reversed().reduce(.zero) { longest, frame in
            guard let number = broadcast.number(of: frame.0.frame), number >= first else { return longest }
            return max(longest, frame.1 - broadcast.instants[number])
        }
    }
}

/// Detects whether two different packets were protected with the same key and index, which would reuse a nonce
/// (RFC 3711, section 9.1).
final class NonceRecorder {
    /// The key, source and index of a packet. With fewer than 2^16 packets, the sequence number is the index.
    private struct Nonce: Hashable {
        let sender: Int
        let ssrc: UInt32
        let index: UInt32
        let isControl: Bool
    }

    private var seen: [Nonce: Int] = [:]
    /// The first reuse; nil if there is none.
    private(set) var offence: String?

    /// Records a datagram. `sender` identifies the key, because each peer has its own key in each direction.
    func see(_ bytes: [UInt8], from sender: Int) {
        // This selects SRTP and SRTCP (RFC 7983, section 7). The smallest packet has the header, tag and index of
        // SRTCP.
        guard bytes.count >= 28, (128...191).contains(bytes[0]) else { return }
        func word(_ offset: Int) -> UInt32 { bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }
        let isControl = (192...223).contains(bytes[1])
        // Both ends agree on AES-GCM, with which the SRTCP index is at the end (RFC 7714, section 9.2).
        let nonce = Nonce(
            sender: sender, ssrc: word(isControl ? 4 : 8),
            index: isControl ? word(bytes.count - 4) & 0x7FFF_FFFF : UInt32(bytes[2]) << 8 | UInt32(bytes[3]),
            isControl: isControl)
        var hasher = Hasher()
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        let hash = hasher.finalize()
        if let before = seen.updateValue(hash, forKey: nonce), before != hash { offence = "\(nonce)" }
    }
}

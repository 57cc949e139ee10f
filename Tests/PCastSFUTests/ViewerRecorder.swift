import PCastCore

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

import PCastCore

/// How what a path carries is divided: sound first, then the layers of the picture from the lowest up, each as much as
/// it can use before the next gets anything.
enum BandwidthAllocation {
    /// What a layer can use.
    struct Layer: Hashable, Sendable {
        /// Less is not worth sending.
        var least: Bitrate
        var most: Bitrate
    }

    /// IP, UDP, RTP with its extensions, and the cipher's tag, in bytes a packet (CC10).
    private static let overhead = 72
    private static let soundPackets = 50
    /// A packet of video with all that, over its payload: the packets of a small frame are not full.
    private static let videoOverhead = 1.08

    /// - Parameters:
    ///   - total: bits a second on the wire.
    ///   - sound: what the audio encoder makes; nil without sound.
    ///   - layers: from the lowest up.
    /// - Returns: what each encoder may make. A layer that gets less than its least, and those above it, get nothing.
    static func divide(_ total: Bitrate, sound: Bitrate?, layers: [Layer]) -> [Bitrate] {
        let wire = total.bitsPerSecond - (sound.map(onWire(sound:)) ?? 0)
        var left = Int64(Double(max(wire, 0)) / videoOverhead)
        var isFull = false
        return layers.enumerated().map { index, layer in
            // The lowest gets what there is: its encoder says when that is too little.
            guard !isFull, index == 0 || left >= layer.least.bitsPerSecond else {
                isFull = true
                return Bitrate(bitsPerSecond: 0)
            }
            let share = min(left, layer.most.bitsPerSecond)
            left -= share
            if share < layer.most.bitsPerSecond { isFull = true }
            return Bitrate(bitsPerSecond: share)
        }
    }

    /// What has to pass on the wire so that all can be sent in full.
    static func total(sound: Bitrate?, layers: [Layer]) -> Bitrate {
        let video = layers.reduce(0) { $0 + $1.most.bitsPerSecond }
        return Bitrate(bitsPerSecond: Int64(Double(video) * videoOverhead) + (sound.map(onWire(sound:)) ?? 0))
    }

    private static func onWire(sound: Bitrate) -> Int64 { sound.bitsPerSecond + Int64(soundPackets * overhead * 8) }
}

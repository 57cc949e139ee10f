import PCastCore

/// Divides the available bandwidth: audio first, then the layers of video from the lowest up. Each gets as much as it
/// can use before the next gets anything.
enum BandwidthAllocation {
    /// The range of bit rates that a layer can use.
    struct Layer: Hashable, Sendable {
        /// The bit rate below which the layer is not worth sending.
        var least: Bitrate
        /// The bit rate of the layer in full quality.
        var most: Bitrate
    }

    /// The overhead of an audio packet in bytes: IP, UDP, RTP with its extensions, and the authentication tag of SRTP.
    private static let overhead = 72
    /// The number of audio packets per second.
    private static let audioPackets = 50
    /// The size of a video packet with that overhead, relative to its payload. It allows for small frames, whose
    /// packets are not full.
    private static let videoOverhead = 1.08

    /// Returns the bit rate of each layer's encoder. If a layer gets less than its minimum, it and the layers above it
    /// get nothing.
    ///
    /// - Parameters:
    ///   - total: The available bandwidth on the wire.
    ///   - audio: The bit rate of the audio encoder; nil without audio.
    ///   - layers: The layers, the lowest first.
    /// - Returns: The bit rates in the order of the layers.
    static func divide(_ total: Bitrate, audio: Bitrate?, layers: [Layer]) -> [Bitrate] {
        let wire = total.bitsPerSecond - (audio.map(onWire(audio:)) ?? 0)
        var left = Int64(Double(max(wire, 0)) / videoOverhead)
        var isFull = false
        return layers.enumerated().map { index, layer in
            // The lowest layer gets what remains. Its encoder decides whether that is too little.
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

    /// Returns the bandwidth on the wire that everything needs in full quality.
    static func total(audio: Bitrate?, layers: [Layer]) -> Bitrate {
        let video = layers.reduce(0) { $0 + $1.most.bitsPerSecond }
        return Bitrate(bitsPerSecond: Int64(Double(video) * videoOverhead) + (audio.map(onWire(audio:)) ?? 0))
    }

    /// Returns the bit rate of audio on the wire, in bits per second.
    private static func onWire(audio: Bitrate) -> Int64 { audio.bitsPerSecond + Int64(audioPackets * overhead * 8) }
}

import PCastCore

/// A format, a size and a frame rate of a camera.
struct VideoFormatChoice: Sendable {
    let encoding: CaptureEncoding
    let dimensions: Dimensions

    /// The size after rotation.
    let delivered: Dimensions
    let frameRate: FrameRate

    /// The fitness of width, height and frame rate.
    let fits: [CapabilityFit]
    let score: FitnessScore

    /// The distance of the rate without tolerance.
    let deviation: Double
    let encodingCost: Int

    /// The reason for this format over the device's second best, for display; nil if there is only one.
    var reason: String?

    var rank: FitnessRank {
        var rank = FitnessRank()
        rank.unmetDemands = score.unmetDemands
        rank.missed = score.missed
        rank.distance = score.distance
        rank.defaults = score.defaults
        rank.encodingCost = encodingCost
        rank.area = dimensions.area
        rank.deviation = deviation
        rank.rate = frameRate.perSecond
        return rank
    }

    func chosen(over next: VideoFormatChoice) -> VideoFormatChoice {
        var choice = self
        choice.reason = "rather than \(next): \(rank.advantage(over: next.rank))"
        return choice
    }
}

extension VideoFormatChoice: CustomStringConvertible {
    var description: String { "\(delivered) at \(ConstraintNumber.rounded(frameRate.perSecond)), \(encoding.name)" }
}

extension CaptureEncoding {
    /// Returns the relative CPU cost from the camera to the encoder. Encoders read I420 directly, and NV12 directly or
    /// after separating its chroma. YUYV is converted, MJPEG is decoded, and decoding H.264 costs more. With
    /// `prefersCoded`, H.264 is passed through. Returns nil for encodings that cannot be captured.
    func cost(prefersCoded: Bool) -> Int? {
        switch self {
        case .computed: 0
        case .i420: 1
        case .nv12: 2
        case .yuyv: 3
        case .mjpeg: 4
        case .h264: prefersCoded ? -1 : 5
        // GREY is the format of infrared cameras for face recognition, which are not meant as cameras.
        case .other("GREY"): nil
        case .other: isCapturable ? 3 : nil
        }
    }
}

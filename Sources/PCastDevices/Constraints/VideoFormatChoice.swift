import PCastMedia

/// One way to open a camera.
struct VideoFormatChoice: Sendable {
    let encoding: CaptureEncoding
    let dimensions: Dimensions

    /// Once they are turned upright.
    let delivered: Dimensions
    let frameRate: FrameRate

    /// Of width, height and frame rate.
    let fits: [CapabilityFit]
    let score: FitnessScore

    /// Of the rate, without tolerance.
    let deviation: Double
    let encodingCost: Int

    /// Why it rather than the device's next best format, for people; nil when there is only one.
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
    /// What it takes to bring a picture to the encoder, in steps: I420 is what encoders read, NV12 they read or have its
    /// colours separated, YUYV is converted, MJPEG decoded, H.264 decoded for more than MJPEG. Nil for what is not
    /// captured.
    ///
    /// - Parameter prefersCoded: whether H.264 is passed on as it is.
    func cost(prefersCoded: Bool) -> Int? {
        switch self {
        case .computed: 0
        case .i420: 1
        case .nv12: 2
        case .yuyv: 3
        case .mjpeg: 4
        case .h264: prefersCoded ? -1 : 5
        // Infrared cameras, by which computers know their users; nobody means them by a camera.
        case .other("GREY"): nil
        case .other: isCapturable ? 3 : nil
        }
    }
}

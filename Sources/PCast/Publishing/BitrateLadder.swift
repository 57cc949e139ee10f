import PCastCore

/// The default bit rates by the height of the video, after Phenix's encoding ladder of 2020.
enum BitrateLadder {
    private static let steps: [(height: Int, kilobits: Int64)] = [
        (144, 192), (240, 350), (360, 520), (480, 830), (720, 1_600), (1_080, 3_000),
    ]

    /// Returns the bit rate of the lowest step whose height is at least the shorter side. Larger frames have the bit
    /// rate of the highest step.
    static func bitrate(for dimensions: Dimensions) -> Bitrate {
        let height = min(dimensions.width, dimensions.height)
        return .kilobits((steps.first { height <= $0.height } ?? steps[steps.count - 1]).kilobits)
    }
}

import PCastCore

/// What a picture's height is worth, after Phenix's encoding ladder of 2020.
enum BitrateLadder {
    private static let steps: [(height: Int, kilobits: Int64)] = [
        (144, 192), (240, 350), (360, 520), (480, 830), (720, 1_600), (1_080, 3_000),
    ]

    /// The rate of the lowest step that holds the picture; that of the highest for larger ones.
    static func bitrate(for dimensions: Dimensions) -> Bitrate {
        let height = min(dimensions.width, dimensions.height)
        return .kilobits((steps.first { height <= $0.height } ?? steps[steps.count - 1]).kilobits)
    }
}

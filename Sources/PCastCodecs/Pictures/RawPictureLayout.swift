import PCastMedia

/// Where the planes of a raw picture begin.
struct RawPictureLayout {
    /// What is made of it: even numbers.
    let dimensions: Dimensions
    let stride: Int
    let chromaStride: Int
    /// Of the second and third plane; 0 where there are none.
    let secondPlane: Int
    let thirdPlane: Int
    let byteCount: Int
    /// Whether the planes of colour have half as many rows.
    let isHalfHeight: Bool

    private static let longestSide = 16_384
    private static let longestStride = 1 << 20

    /// - Parameter stride: 0 for rows without padding.
    init?(_ format: RawPixelFormat, dimensions told: Dimensions, stride: Int) {
        guard (2...Self.longestSide).contains(told.width), (2...Self.longestSide).contains(told.height) else {
            return nil
        }
        dimensions = Dimensions(width: told.width & ~1, height: told.height & ~1)
        let rowBytes = format.minimumStride(width: dimensions.width)
        self.stride = stride == 0 ? format.minimumStride(width: told.width) : stride
        guard (rowBytes...Self.longestStride).contains(self.stride) else { return nil }
        var colourRowBytes = 0
        switch format.arrangement {
        case .packed:
            (chromaStride, secondPlane, thirdPlane, isHalfHeight) = (0, 0, 0, false)
            byteCount = self.stride * (dimensions.height - 1) + rowBytes
            return
        case .semiPlanar(let isHalfHeight):
            self.isHalfHeight = isHalfHeight
            chromaStride = self.stride
            secondPlane = self.stride * told.height
            thirdPlane = secondPlane
            colourRowBytes = dimensions.width
        case .planar(let isHalfHeight):
            self.isHalfHeight = isHalfHeight
            chromaStride = (self.stride + 1) / 2
            secondPlane = self.stride * told.height
            thirdPlane = secondPlane + chromaStride * (isHalfHeight ? (told.height + 1) / 2 : told.height)
            colourRowBytes = dimensions.width / 2
        }
        let colourRows = isHalfHeight ? dimensions.height / 2 : dimensions.height
        byteCount = thirdPlane + chromaStride * (colourRows - 1) + colourRowBytes
    }

    /// Where the colours of a row begin in their plane.
    func chromaOffset(row: Int) -> Int { chromaStride * (isHalfHeight ? row / 2 : row) }
}

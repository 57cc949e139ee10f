import PCastCore

/// The offsets of the planes in a raw picture.
struct RawFrameLayout {
    /// The size of the converted frame, even numbers.
    let dimensions: Dimensions
    let stride: Int
    let chromaStride: Int
    /// The offset of the second plane, followed by the third one; 0 if there are none.
    let secondPlane: Int
    let thirdPlane: Int
    let byteCount: Int

    private static let longestSide = 16_384
    private static let longestStride = 1 << 20

    /// Computes the layout. The stride is 0 for rows without padding. Returns nil for sizes outside 2...16,384 and
    /// strides shorter than a row or longer than 1 MiB.
    init?(_ format: RawPixelFormat, dimensions requested: Dimensions, stride: Int) {
        guard (2...Self.longestSide).contains(requested.width), (2...Self.longestSide).contains(requested.height) else {
            return nil
        }
        dimensions = Dimensions(width: requested.width & ~1, height: requested.height & ~1)
        let rowBytes = format.minimumStride(width: dimensions.width)
        self.stride = stride == 0 ? format.minimumStride(width: requested.width) : stride
        guard (rowBytes...Self.longestStride).contains(self.stride) else { return nil }
        let (colourRows, colourRowBytes): (Int, Int)
        switch format.arrangement {
        case .packed:
            (chromaStride, secondPlane, thirdPlane) = (0, 0, 0)
            byteCount = self.stride * (dimensions.height - 1) + rowBytes
            return
        case .semiPlanar(let isHalfHeight):
            colourRows = isHalfHeight ? dimensions.height / 2 : dimensions.height
            chromaStride = self.stride
            secondPlane = self.stride * requested.height
            thirdPlane = secondPlane
            colourRowBytes = dimensions.width
        case .planar(let isHalfHeight):
            colourRows = isHalfHeight ? dimensions.height / 2 : dimensions.height
            chromaStride = (self.stride + 1) / 2
            secondPlane = self.stride * requested.height
            thirdPlane = secondPlane + chromaStride * (isHalfHeight ? (requested.height + 1) / 2 : requested.height)
            colourRowBytes = dimensions.width / 2
        }
        byteCount = thirdPlane + chromaStride * (colourRows - 1) + colourRowBytes
    }
}

import CXCB

/// The image of the pointer, and its position.
struct XPointer {
    let width: Int
    let height: Int
    /// The position of its upper left corner in the captured image.
    let left: Int
    let top: Int
    /// The pixels in rows of ARGB, premultiplied by alpha as XFixes delivers them.
    let pixels: [UInt32]

    /// Draws the pointer over an image, whose rows are `stride` bytes apart.
    func draw(
        into image: UnsafeMutableRawPointer, layout: XPixelLayout, width imageWidth: Int, height imageHeight: Int,
        stride: Int
    ) {
        let (firstColumn, endColumn) = (max(0, -left), min(width, imageWidth - left))
        let (firstRow, endRow) = (max(0, -top), min(height, imageHeight - top))
        guard pixels.count >= width * height, firstColumn < endColumn, firstRow < endRow else { return }
        for row in firstRow..<endRow {
            let line = image + (top + row) * stride
            for column in firstColumn..<endColumn {
                let pixel = pixels[row * width + column]
                // The pixel is fully transparent.
                if pixel == 0 { continue }
                Self.blend(pixel, over: line + (left + column) * layout.bytesPerPixel, layout)
            }
        }
    }

    private static func blend(_ pixel: UInt32, over target: UnsafeMutableRawPointer, _ layout: XPixelLayout) {
        var value: UInt32 = 0
        for byte in 0..<layout.bytesPerPixel {
            value |= UInt32(target.load(fromByteOffset: byte, as: UInt8.self)) << (8 * byte)
        }
        // The weight of the background.
        let rest = 255 - (pixel >> 24)
        for (channel, shift) in [(layout.red, UInt32(16)), (layout.green, 8), (layout.blue, 0)] {
            let target = UInt32(channel.shift)
            let most = (UInt32(1) << channel.width) - 1
            let below = (value >> target) & most
            let above = ((pixel >> shift) & 0xFF) * most
            let blended = min(most, (above + below * rest + 127) / 255)
            value = (value & ~(most << target)) | (blended << target)
        }
        for byte in 0..<layout.bytesPerPixel {
            target.storeBytes(of: UInt8(truncatingIfNeeded: value >> (8 * byte)), toByteOffset: byte, as: UInt8.self)
        }
    }
}

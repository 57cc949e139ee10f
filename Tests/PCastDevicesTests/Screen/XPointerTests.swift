import PCastCodecs
import Testing

@testable import PCastDevices

@Suite("The pointer is drawn over the frame")
struct XPointerTests {
    private static let layouts: [XPixelLayout] = [
        XPixelLayout(
            bitsPerPixel: 32, scanlinePad: 32, red: 0xFF0000, green: 0xFF00, blue: 0xFF, isLittleEndian: true)!,
        XPixelLayout(
            bitsPerPixel: 32, scanlinePad: 32, red: 0xFF0000, green: 0xFF00, blue: 0xFF, isLittleEndian: false)!,
        XPixelLayout(
            bitsPerPixel: 24, scanlinePad: 32, red: 0xFF0000, green: 0xFF00, blue: 0xFF, isLittleEndian: true)!,
        XPixelLayout(bitsPerPixel: 16, scanlinePad: 32, red: 0xF800, green: 0x7E0, blue: 0x1F, isLittleEndian: true)!,
    ]

    /// Returns an image of 4x4 pixels of one color with the pointer: the red, green and blue of each pixel in eight
    /// bits.
    private static func drawn(
        _ pointer: XPointer, on colour: (UInt32, UInt32, UInt32), _ layout: XPixelLayout
    ) -> [[UInt32]] {
        let stride = layout.stride(width: 4)
        var bytes = [UInt8](repeating: 0, count: stride * 4)
        let channels = [(layout.red, colour.0), (layout.green, colour.1), (layout.blue, colour.2)]
        let pixel = channels.reduce(UInt32(0)) { $0 | ($1.1 >> UInt32(8 - $1.0.width)) << UInt32($1.0.shift) }
        for row in 0..<4 {
            for column in 0..<4 {
                for byte in 0..<layout.bytesPerPixel {
                    bytes[row * stride + column * layout.bytesPerPixel + byte] = UInt8(pixel >> (8 * byte) & 0xFF)
                }
            }
        }
        bytes.withUnsafeMutableBytes {
            pointer.draw(into: $0.baseAddress!, layout: layout, width: 4, height: 4, stride: stride)
        }
        return (0..<16).map { index in
            var value: UInt32 = 0
            for byte in 0..<layout.bytesPerPixel {
                value |= UInt32(bytes[index / 4 * stride + index % 4 * layout.bytesPerPixel + byte]) << (8 * byte)
            }
            return channels.map { channel, _ in
                let most = (UInt32(1) << channel.width) - 1
                return (value >> UInt32(channel.shift) & most) * 255 / most
            }
        }
    }

    @Test("opaque pixels cover, transparent ones do not, others mix, in every pixel layout", arguments: 0..<4)
    func blending(_ index: Int) {
        let pointer = XPointer(
            width: 3, height: 1, left: 0, top: 1, pixels: [0xFFFF_0000, 0x0000_0000, 0x8000_0080])
        let image = Self.drawn(pointer, on: (0, 255, 0), Self.layouts[index])
        #expect(image[4] == [255, 0, 0])
        #expect(image[5] == [0, 255, 0])
        let mixed = image[6]
        #expect(mixed[0] == 0 && abs(Int(mixed[1]) - 127) <= 4 && abs(Int(mixed[2]) - 128) <= 4)
        #expect(image[0] == [0, 255, 0] && image[7] == [0, 255, 0])
    }

    @Test("parts beyond an edge are cut")
    func clipping() {
        let opaque = [UInt32](repeating: 0xFFFF_FFFF, count: 9)
        let white: [UInt32] = [255, 255, 255]
        for (left, top, count) in [(-2, -2, 1), (3, 3, 1), (2, -1, 4), (1, 1, 9), (-3, 0, 0), (4, 0, 0), (-9, 99, 0)] {
            let pointer = XPointer(width: 3, height: 3, left: left, top: top, pixels: opaque)
            let image = Self.drawn(pointer, on: (0, 0, 0), Self.layouts[0])
            #expect(image.count { $0 == white } == count, "at \(left),\(top)")
        }
    }

    @Test("an image with fewer pixels than its size is not drawn")
    func lying() {
        let pointer = XPointer(width: 3, height: 3, left: 0, top: 0, pixels: [0xFFFF_FFFF])
        #expect(Self.drawn(pointer, on: (0, 0, 0), Self.layouts[0]).allSatisfy { $0 == [0, 0, 0] })
    }
}

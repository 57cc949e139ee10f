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

/// Pending requests for the image and the position of the pointer.
struct XPointerRequest {
    private let pointerCookie: xcb_query_pointer_cookie_t
    private let image: xcb_xfixes_get_cursor_image_cookie_t

    init(of server: XServer, on drawable: xcb_drawable_t) {
        pointerCookie = xcb_query_pointer(server.connection, drawable)
        image = xcb_xfixes_get_cursor_image(server.connection)
    }

    /// Waits for both. Returns nil if the pointer is not on this screen. `left` and `top` are the origin of the
    /// captured area in the drawable.
    func answer(_ server: XServer, left: Int, top: Int) -> XPointer? {
        let found = server.answer({ xcb_query_pointer_reply($0, pointerCookie, $1) }) { reply -> (x: Int, y: Int)? in
            guard reply.pointee.same_screen != 0 else { return nil }
            return (Int(reply.pointee.win_x) - left, Int(reply.pointee.win_y) - top)
        }
        let pointer = server.answer({ xcb_xfixes_get_cursor_image_reply($0, image, $1) }) { reply -> XPointer? in
            guard case .reply(let spot?) = found else { return nil }
            let count = Int(xcb_xfixes_get_cursor_image_cursor_image_length(reply))
            let (width, height) = (Int(reply.pointee.width), Int(reply.pointee.height))
            guard count >= width * height, let pixels = xcb_xfixes_get_cursor_image_cursor_image(reply) else {
                return nil
            }
            return XPointer(
                width: width, height: height, left: spot.x - Int(reply.pointee.xhot),
                top: spot.y - Int(reply.pointee.yhot),
                pixels: Array(UnsafeBufferPointer(start: pixels, count: width * height)))
        }
        return pointer.value ?? nil
    }
}

import CXCB
import PCastCore

/// A screen of a server, as of the time of the connection.
struct XScreen: Sendable {
    let root: xcb_window_t
    let rootVisual: xcb_visualid_t
    let rootDepth: UInt8
    /// The number of bits per pixel, and the alignment of rows in bits, by depth.
    let formats: [UInt8: (bitsPerPixel: Int, scanlinePad: Int)]
    let visuals: [xcb_visualid_t: xcb_visualtype_t]
    let isLittleEndian: Bool

    static func all(of setup: UnsafePointer<xcb_setup_t>) -> [XScreen] {
        var formats: [UInt8: (bitsPerPixel: Int, scanlinePad: Int)] = [:]
        var format = xcb_setup_pixmap_formats_iterator(setup)
        while format.rem > 0 {
            let known = format.data.pointee
            formats[known.depth] = (Int(known.bits_per_pixel), Int(known.scanline_pad))
            xcb_format_next(&format)
        }
        let isLittleEndian = setup.pointee.image_byte_order == UInt8(XCB_IMAGE_ORDER_LSB_FIRST.rawValue)
        var screens: [XScreen] = []
        var screen = xcb_setup_roots_iterator(setup)
        while screen.rem > 0 {
            screens.append(XScreen(screen.data, formats: formats, isLittleEndian: isLittleEndian))
            xcb_screen_next(&screen)
        }
        return screens
    }

    private init(
        _ screen: UnsafeMutablePointer<xcb_screen_t>, formats: [UInt8: (bitsPerPixel: Int, scanlinePad: Int)],
        isLittleEndian: Bool
    ) {
        root = screen.pointee.root
        rootVisual = screen.pointee.root_visual
        rootDepth = screen.pointee.root_depth
        self.formats = formats
        self.isLittleEndian = isLittleEndian
        var visuals: [xcb_visualid_t: xcb_visualtype_t] = [:]
        var depth = xcb_screen_allowed_depths_iterator(screen)
        while depth.rem > 0 {
            var visual = xcb_depth_visuals_iterator(depth.data)
            while visual.rem > 0 {
                visuals[visual.data.pointee.visual_id] = visual.data.pointee
                xcb_visualtype_next(&visual)
            }
            xcb_depth_next(&depth)
        }
        self.visuals = visuals
    }

    /// Returns the pixel layout of drawables with a depth and a visual; nil if it is not supported, e.g., with a
    /// palette.
    func pixels(depth: UInt8, visual: xcb_visualid_t) -> XPixelLayout? {
        guard let format = formats[depth], let visual = visuals[visual] else { return nil }
        return XPixelLayout(
            bitsPerPixel: format.bitsPerPixel, scanlinePad: format.scanlinePad, red: visual.red_mask,
            green: visual.green_mask, blue: visual.blue_mask, isLittleEndian: isLittleEndian)
    }
}

import CXCB
import Glibc

/// A program that draws on a test's X server, through XCB.
final class TestXClient {
    /// A color as a pixel of X11 with depth 24.
    enum Colour: UInt32, CaseIterable {
        case black = 0x00_0000
        case red = 0xFF_0000
        case green = 0x00_FF00
        case blue = 0x00_00FF
        case white = 0xFF_FFFF
    }

    let connection: OpaquePointer
    let screen: xcb_screen_t
    private let context: xcb_gcontext_t

    init(_ display: String) {
        connection = xcb_connect(display, nil)
        screen = xcb_setup_roots_iterator(xcb_get_setup(connection)).data.pointee
        context = xcb_generate_id(connection)
        var values: [UInt32] = [UInt32(XCB_SUBWINDOW_MODE_INCLUDE_INFERIORS.rawValue)]
        xcb_create_gc(connection, context, screen.root, XCB_GC_SUBWINDOW_MODE.rawValue, &values)
        finishRequests()
    }

    deinit { xcb_disconnect(connection) }

    /// Waits until the server has finished all requests.
    func finishRequests() {
        free(xcb_get_input_focus_reply(connection, xcb_get_input_focus(connection), nil))
    }

    /// Returns the pixel of a color on this screen.
    func pixel(_ colour: Colour) -> UInt32 {
        guard screen.root_depth == 16 else { return colour.rawValue }
        let value = colour.rawValue
        return (value >> 19 & 0x1F) << 11 | (value >> 10 & 0x3F) << 5 | value >> 3 & 0x1F
    }

    func fill(_ colour: Colour, in window: UInt32? = nil, x: Int, y: Int, width: Int, height: Int) {
        var values = [pixel(colour)]
        xcb_change_gc(connection, context, XCB_GC_FOREGROUND.rawValue, &values)
        var rectangle = xcb_rectangle_t(x: Int16(x), y: Int16(y), width: UInt16(width), height: UInt16(height))
        xcb_poly_fill_rectangle(connection, window ?? screen.root, context, 1, &rectangle)
        finishRequests()
    }

    /// Creates a window that no window manager changes, and returns when it is shown. The border is white, with a width
    /// in pixels.
    func window(_ colour: Colour, x: Int, y: Int, width: Int, height: Int, border: Int = 0) -> UInt32 {
        let window = xcb_generate_id(connection)
        var values = [pixel(colour), pixel(.white), 1]
        xcb_create_window(
            connection, screen.root_depth, window, screen.root, Int16(x), Int16(y), UInt16(width), UInt16(height),
            UInt16(border),
            UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue), screen.root_visual,
            XCB_CW_BACK_PIXEL.rawValue | XCB_CW_BORDER_PIXEL.rawValue | XCB_CW_OVERRIDE_REDIRECT.rawValue, &values)
        xcb_map_window(connection, window)
        finishRequests()
        return window
    }

    func move(_ window: UInt32, x: Int, y: Int) { configure(window, XCB_CONFIG_WINDOW_X, XCB_CONFIG_WINDOW_Y, x, y) }

    func resize(_ window: UInt32, width: Int, height: Int) {
        configure(window, XCB_CONFIG_WINDOW_WIDTH, XCB_CONFIG_WINDOW_HEIGHT, width, height)
    }

    private func configure(
        _ window: UInt32, _ first: xcb_config_window_t, _ second: xcb_config_window_t, _ one: Int, _ two: Int
    ) {
        var values = [UInt32(bitPattern: Int32(one)), UInt32(bitPattern: Int32(two))]
        xcb_configure_window(connection, window, UInt16(first.rawValue | second.rawValue), &values)
        finishRequests()
    }

    func hide(_ window: UInt32) {
        xcb_unmap_window(connection, window)
        finishRequests()
    }

    func close(_ window: UInt32) {
        xcb_destroy_window(connection, window)
        finishRequests()
    }

    /// Makes the pointer a square of one color, centered on its position.
    func setPointer(_ colour: Colour, side: Int) {
        let shape = xcb_generate_id(connection)
        xcb_create_pixmap(connection, 1, shape, screen.root, UInt16(side), UInt16(side))
        let bits = xcb_generate_id(connection)
        var values: [UInt32] = [1]
        xcb_create_gc(connection, bits, shape, XCB_GC_FOREGROUND.rawValue, &values)
        var all = xcb_rectangle_t(x: 0, y: 0, width: UInt16(side), height: UInt16(side))
        xcb_poly_fill_rectangle(connection, shape, bits, 1, &all)
        let part = { (shift: UInt32) in UInt16(colour.rawValue >> shift & 0xFF) * 257 }
        let cursor = xcb_generate_id(connection)
        xcb_create_cursor(
            connection, cursor, shape, shape, part(16), part(8), part(0), 0, 0, 0, UInt16(side / 2), UInt16(side / 2))
        var cursors = [cursor]
        xcb_change_window_attributes(connection, screen.root, XCB_CW_CURSOR.rawValue, &cursors)
        finishRequests()
    }

    func movePointer(x: Int, y: Int) {
        xcb_warp_pointer(connection, 0, screen.root, 0, 0, 0, 0, Int16(x), Int16(y))
        finishRequests()
    }

    /// Defines a part of the screen as a monitor, like `xrandr --setmonitor`.
    func setMonitor(_ name: String, x: Int, y: Int, width: Int, height: Int) {
        let place = [x, y, width, height].map { UInt32($0) }
        // Name; neither primary nor automatic, no outputs; place; size in millimeters.
        monitorRequest(
            43, [atom(name), 0, place[0] | place[1] << 16, place[2] | place[3] << 16, 100, 100])
    }

    /// Moves a monitor. The server cannot replace one, so it is grabbed meanwhile.
    func moveMonitor(_ name: String, x: Int, y: Int, width: Int, height: Int) {
        xcb_grab_server(connection)
        deleteMonitor(name)
        setMonitor(name, x: x, y: y, width: width, height: height)
        xcb_ungrab_server(connection)
        finishRequests()
    }

    /// Sets the screen to another size, no larger than its first, like `xrandr --fb`.
    func resizeScreen(width: Int, height: Int) {
        free(xcb_randr_query_version_reply(connection, xcb_randr_query_version(connection, 1, 5), nil))
        let resources = xcb_randr_get_screen_resources_current_reply(
            connection, xcb_randr_get_screen_resources_current(connection, screen.root), nil)
        defer { free(resources) }
        // The monitor would have to fit.
        for index in 0..<Int(xcb_randr_get_screen_resources_current_crtcs_length(resources)) {
            let crtc = xcb_randr_get_screen_resources_current_crtcs(resources)[index]
            let off = xcb_randr_set_crtc_config(connection, crtc, 0, 0, 0, 0, 0, 1, 0, nil)
            free(xcb_randr_set_crtc_config_reply(connection, off, nil))
        }
        xcb_randr_set_screen_size(connection, screen.root, UInt16(width), UInt16(height), 100, 100)
        finishRequests()
    }

    func deleteMonitor(_ name: String) { monitorRequest(44, [atom(name)]) }

    private func atom(_ name: String) -> UInt32 {
        let reply = xcb_intern_atom_reply(
            connection, xcb_intern_atom(connection, 0, UInt16(name.utf8.count), name), nil)
        defer { free(reply) }
        return reply?.pointee.atom ?? 0
    }

    /// Sends a request of RandR about this screen. It is encoded here, because libxcb 1.15 truncates SetMonitor.
    private func monitorRequest(_ minor: UInt8, _ words: [UInt32]) {
        free(xcb_randr_query_version_reply(connection, xcb_randr_query_version(connection, 1, 5), nil))
        let major = cxcb_randr(connection).pointee.major_opcode
        // The first word has the opcodes and the length. libxcb sets all but the second opcode.
        var request = [UInt32(minor) << 8, screen.root] + words
        request.withUnsafeMutableBytes { bytes in
            let part = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
            // libxcb uses two entries before the first for itself.
            var vector = [iovec(), iovec(), part]
            var protocolRequest = xcb_protocol_request_t(count: 1, ext: nil, opcode: major, isvoid: 1)
            vector.withUnsafeMutableBufferPointer {
                _ = xcb_send_request(connection, 0, $0.baseAddress! + 2, &protocolRequest)
            }
        }
        finishRequests()
    }
}

import CXCB
import Foundation
import PCastCore
import PCastDevices
import PCastIO

@testable import PCastDevices

/// A simulated user of a display, who sees the screen, presses keys, and moves windows.
final class DisplayUser {
    private let connection: OpaquePointer
    private let root: xcb_window_t
    private let grabber: ScreenGrabber

    init(_ server: DisplayServer) throws {
        connection = xcb_connect(server.display, nil)
        root = xcb_setup_roots_iterator(xcb_get_setup(connection)).data.pointee.root
        grabber = try ScreenGrabber(.init(display: server.display), showsPointer: false)
    }

    deinit { xcb_disconnect(connection) }

    /// Takes a frame of the display.
    func look() throws -> VideoFrame {
        let grab = grabber.grab(
            captureTime: WallTime(nanosecondsSinceEpoch: 0), timestamp: MediaTime(ticks: 0, rate: .video))
        guard case .frame(let frame) = grab else { throw WindowProgram.Silent(description: "no frame") }
        return frame
    }

    /// Reads the screen until a condition holds. Returns the last content, also after a minute and a half without success.
    func look(until holds: (VideoFrame) -> Bool) throws -> VideoFrame {
        let deadline = MonotonicClock.now() + .seconds(90)
        while true {
            let frame = try look()
            if holds(frame) || MonotonicClock.now() > deadline { return frame }
            FramePacing.sleep(until: MonotonicClock.now() + .milliseconds(5))
        }
    }

    /// The visible window; nil if there is none.
    private var window: xcb_window_t? {
        guard let tree = xcb_query_tree_reply(connection, xcb_query_tree(connection, root), nil) else { return nil }
        defer { free(tree) }
        let children = UnsafeBufferPointer(
            start: xcb_query_tree_children(tree), count: Int(xcb_query_tree_children_length(tree)))
        return children.first { child in
            let question = xcb_get_window_attributes(connection, child)
            guard let answer = xcb_get_window_attributes_reply(connection, question, nil) else { return false }
            defer { free(answer) }
            return answer.pointee.map_state == UInt8(XCB_MAP_STATE_VIEWABLE.rawValue)
        }
    }

    /// The codes of the usual keyboard of 105 keys.
    static let keys: [Character: UInt8] = ["q": 24, "s": 39, "f": 41, "m": 58, " ": 65]

    func press(_ key: Character) throws {
        guard let window, let code = Self.keys[key] else { throw WindowProgram.Silent(description: "no window") }
        for type in [UInt8(XCB_KEY_PRESS), UInt8(XCB_KEY_RELEASE)] {
            var event = xcb_key_press_event_t()
            event.response_type = type
            event.detail = code
            event.root = root
            event.event = window
            event.same_screen = 1
            send(&event, to: window)
        }
    }

    /// Presses a button of the mouse: 1 for the left one.
    func click(button: UInt8 = 1) throws {
        guard let window else { throw WindowProgram.Silent(description: "no window") }
        for type in [UInt8(XCB_BUTTON_PRESS), UInt8(XCB_BUTTON_RELEASE)] {
            var event = xcb_button_press_event_t()
            event.response_type = type
            event.detail = button
            event.root = root
            event.event = window
            (event.event_x, event.event_y) = (20, 20)
            event.same_screen = 1
            send(&event, to: window, mask: XCB_EVENT_MASK_BUTTON_PRESS)
        }
    }

    /// Sends the message of a window manager's close button.
    func pressClose() throws {
        guard let window else { throw WindowProgram.Silent(description: "no window") }
        var event = xcb_client_message_event_t()
        event.response_type = UInt8(XCB_CLIENT_MESSAGE)
        event.format = 32
        event.window = window
        event.type = atom("WM_PROTOCOLS")
        event.data.data32.0 = atom("WM_DELETE_WINDOW")
        send(&event, to: window)
    }

    func resize(width: Int, height: Int) throws {
        guard let window else { throw WindowProgram.Silent(description: "no window") }
        var values = [UInt32(width), UInt32(height)]
        xcb_configure_window(
            connection, window, UInt16(XCB_CONFIG_WINDOW_WIDTH.rawValue | XCB_CONFIG_WINDOW_HEIGHT.rawValue), &values)
        xcb_flush(connection)
    }

    private func atom(_ name: String) -> xcb_atom_t {
        let question = xcb_intern_atom(connection, 0, UInt16(name.utf8.count), name)
        guard let answer = xcb_intern_atom_reply(connection, question, nil) else { return 0 }
        defer { free(answer) }
        return answer.pointee.atom
    }

    private func send<Event>(
        _ event: inout Event, to window: xcb_window_t, mask: xcb_event_mask_t = XCB_EVENT_MASK_KEY_PRESS
    ) {
        withUnsafeBytes(of: &event) { bytes in
            var copy = [CChar](repeating: 0, count: 32)
            for (index, byte) in bytes.prefix(32).enumerated() { copy[index] = CChar(bitPattern: byte) }
            _ = xcb_send_event(connection, 0, window, UInt32(mask.rawValue), &copy)
        }
        xcb_flush(connection)
    }
}

extension VideoFrame {
    /// Returns the color of a pixel by limited range BT.601, 0xRRGGBB.
    func colour(_ x: Int, _ y: Int) -> UInt32 {
        let brightness = 1.164 * (Double(planeY[y * strideY + x]) - 16)
        let u = Double(planeU[y / 2 * strideUV + x / 2]) - 128
        let v = Double(planeV[y / 2 * strideUV + x / 2]) - 128
        let byte = { (value: Double) in UInt32(min(max(value.rounded(), 0), 255)) }
        return byte(brightness + 1.596 * v) << 16 | byte(brightness - 0.813 * v - 0.391 * u) << 8
            | byte(brightness + 2.018 * u)
    }

    /// Returns whether a pixel has approximately this color.
    func shows(_ colour: UInt32, _ x: Int, _ y: Int) -> Bool {
        guard x >= 0, y >= 0, x < dimensions.width, y < dimensions.height else { return false }
        let seen = self.colour(x, y)
        return [UInt32(0), 8, 16].allSatisfy { shift in
            abs(Int(seen >> shift & 0xFF) - Int(colour >> shift & 0xFF)) <= 24
        }
    }
}

import CXCB
import PCastCore
import PCastIO

/// The screens of X11 displays.
package enum Screens {
    /// The assumed refresh rate of a screen that does not report one.
    static let standardRate = FrameRate(60)

    /// Returns the screen of a display, then its monitors. Their IDs are like `x11::0.0` and `x11::0.0:HDMI-1`. Returns
    /// an empty list if no X server answers. It takes some milliseconds with a local server. `display` is nil for
    /// `$DISPLAY`.
    package static func enumerate(display: String? = nil) -> [SourceDevice] {
        BrokenPipe.blocked {
            guard let server = try? XServer(display: display), let screen = try? device(.screen, of: server) else {
                return []
            }
            let monitors = XMonitor.all(of: server).map { monitor in
                device(.monitor(monitor.name), of: server, monitor.dimensions, monitor.refreshRate)
            }
            return [screen] + monitors
        }
    }

    /// Returns the device of a specification, including other displays and windows, which `enumerate` does not list.
    /// Its ID is a complete specification. Throws the errors of `ScreenSource`.
    package static func find(_ specification: ScreenSpecification) throws(DeviceError) -> SourceDevice {
        try BrokenPipe.blocked { () throws(DeviceError) in
            try device(specification.area, of: try XServer(display: specification.display))
        }
    }

    private static func device(
        _ area: ScreenSpecification.Area, of server: XServer
    ) throws(DeviceError) -> SourceDevice {
        let target = try ScreenTarget(area, of: server)
        let monitors = XMonitor.all(of: server)
        // A window may be on any monitor.
        let own: [XMonitor] =
            if case .monitor(let name) = area { monitors.filter { $0.name == name } } else { monitors }
        return device(area, of: server, target.dimensions, own.compactMap(\.refreshRate).max())
    }

    private static func device(
        _ area: ScreenSpecification.Area, of server: XServer, _ dimensions: Dimensions, _ refreshRate: FrameRate?
    ) -> SourceDevice {
        let specification = ScreenSpecification(display: server.name, area: area)
        let name =
            switch area {
            case .screen: "Screen \(server.name)"
            case .monitor(let monitor): "Monitor \(monitor) of \(server.name)"
            case .window(let id): "Window 0x\(String(id, radix: 16)) of \(server.name)"
            }
        let fastest = refreshRate ?? standardRate
        let format = CaptureFormat(
            encoding: .computed, sizes: .discrete(ScreenGrabber.even(dimensions)),
            rates: .range(slowest: min(FrameRate(1), fastest), fastest: fastest, isContinuous: true))
        return SourceDevice(
            info: SourceDeviceInfo(
                id: "\(specification)", name: name, mediaType: .video, deviceType: .systemOutput),
            identity: DeviceIdentity(name: name), capabilities: .video(VideoCapabilities(formats: [format])))
    }
}

/// A monitor as RandR reports it: a visible part of the screen.
struct XMonitor: Hashable {
    let name: String
    let isPrimary: Bool
    let left: Int
    let top: Int
    let dimensions: Dimensions
    /// The refresh rate; nil if the server does not report it, e.g., without hardware.
    let refreshRate: FrameRate?

    /// Returns the monitors of a screen, the primary one first; empty with a RandR version below 1.5. Querying the
    /// refresh rates takes additional round trips.
    static func all(of server: XServer, withRates: Bool = true) -> [XMonitor] {
        guard server.hasMonitors else { return [] }
        let connection = server.connection
        let cookie = xcb_randr_get_monitors(connection, server.screen.root, 1)
        let found = server.answer({ xcb_randr_get_monitors_reply($0, cookie, $1) }) { reply in
            var infos: [(info: xcb_randr_monitor_info_t, output: xcb_randr_output_t?)] = []
            var info = xcb_randr_get_monitors_monitors_iterator(reply)
            while info.rem > 0 {
                let hasOutput = xcb_randr_monitor_info_outputs_length(info.data) > 0
                infos.append((info.data.pointee, hasOutput ? xcb_randr_monitor_info_outputs(info.data)[0] : nil))
                xcb_randr_monitor_info_next(&info)
            }
            return infos
        }
        guard let infos = found.value, !infos.isEmpty else { return [] }
        let rates = withRates ? XRefreshRates(of: server) : nil
        let monitors = infos.compactMap { info, output -> XMonitor? in
            guard let name = Self.name(of: info.name, server) else { return nil }
            return XMonitor(
                name: name, isPrimary: info.primary != 0, left: Int(info.x), top: Int(info.y),
                dimensions: Dimensions(width: Int(info.width), height: Int(info.height)),
                refreshRate: output.flatMap { rates?.rate(of: $0) })
        }
        return monitors.filter(\.isPrimary) + monitors.filter { !$0.isPrimary }
    }

    private static func name(of atom: xcb_atom_t, _ server: XServer) -> String? {
        let cookie = xcb_get_atom_name(server.connection, atom)
        return server.answer({ xcb_get_atom_name_reply($0, cookie, $1) }) { reply in
            let bytes = UnsafeRawBufferPointer(
                start: xcb_get_atom_name_name(reply), count: Int(xcb_get_atom_name_name_length(reply)))
            return String(decoding: bytes, as: UTF8.self)
        }.value
    }
}

/// The refresh rates of a screen's outputs.
struct XRefreshRates {
    private let server: XServer
    private let time: xcb_timestamp_t
    private let modes: [xcb_randr_mode_t: xcb_randr_mode_info_t]

    init(of server: XServer) {
        self.server = server
        // Uses the server's current data. Querying the hardware takes seconds and blanks some monitors.
        let cookie = xcb_randr_get_screen_resources_current(server.connection, server.screen.root)
        let found = server.answer({ xcb_randr_get_screen_resources_current_reply($0, cookie, $1) }) { reply in
            var modes: [xcb_randr_mode_t: xcb_randr_mode_info_t] = [:]
            let infos = xcb_randr_get_screen_resources_current_modes(reply)
            for index in 0..<Int(xcb_randr_get_screen_resources_current_modes_length(reply)) {
                if let info = infos?[index] { modes[info.id] = info }
            }
            return (reply.pointee.config_timestamp, modes)
        }
        (time, modes) = found.value ?? (0, [:])
    }

    func rate(of output: xcb_randr_output_t) -> FrameRate? {
        let cookie = xcb_randr_get_output_info(server.connection, output, time)
        let crtc = server.answer({ xcb_randr_get_output_info_reply($0, cookie, $1) }) { $0.pointee.crtc }.value
        guard let crtc, crtc != 0 else { return nil }
        let crtcCookie = xcb_randr_get_crtc_info(server.connection, crtc, time)
        let mode = server.answer({ xcb_randr_get_crtc_info_reply($0, crtcCookie, $1) }) { $0.pointee.mode }.value
        guard let mode, let info = modes[mode] else { return nil }
        return Self.rate(
            clock: Int(info.dot_clock), columns: Int(info.htotal), rows: Int(info.vtotal), flags: info.mode_flags)
    }

    /// Returns the refresh rate of a mode, in hundredths; nil for an implausible mode.
    static func rate(clock: Int, columns: Int, rows: Int, flags: UInt32) -> FrameRate? {
        var rows = rows * 2
        if flags & XCB_RANDR_MODE_FLAG_DOUBLE_SCAN.rawValue != 0 { rows *= 2 }
        if flags & XCB_RANDR_MODE_FLAG_INTERLACE.rawValue != 0 { rows /= 2 }
        guard clock > 0, columns > 0, rows > 0 else { return nil }
        let hundredths = (200 * clock + columns * rows / 2) / (columns * rows)
        guard (100...100_000).contains(hundredths) else { return nil }
        return hundredths % 100 == 0 ? FrameRate(hundredths / 100) : FrameRate(hundredths, 100)
    }
}

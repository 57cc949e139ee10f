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

import PCastMedia

/// The screens of this machine's X11 displays.
public enum Screens {
    /// What a screen is redrawn at that does not say, in pictures a second.
    static let standardRate = FrameRate(60)

    /// The screen of a display and each of its monitors, the screen first; ids are like `x11::0.0` and `x11::0.0:HDMI-1`.
    /// Empty when no X server answers. Asks the server, which takes some milliseconds when it is on this machine.
    ///
    /// - Parameter display: another than `$DISPLAY`'s.
    public static func enumerate(display: String? = nil) -> [SourceDevice] {
        BrokenPipe.blocked {
            guard let server = try? XServer(display: display),
                let target = try? ScreenTarget(.screen, of: server)
            else { return [] }
            let monitors = XMonitor.all(of: server)
            let fastest = monitors.compactMap(\.refreshRate).max()
            let whole = device(
                .init(display: server.name), name: "Screen \(server.name)", target.dimensions, fastest)
            return [whole]
                + monitors.map { monitor in
                    device(
                        .init(display: server.name, area: .monitor(monitor.name)),
                        name: "Monitor \(monitor.name) of \(server.name)", monitor.dimensions, monitor.refreshRate)
                }
        }
    }

    private static func device(
        _ specification: ScreenSpecification, name: String, _ dimensions: Dimensions, _ refreshRate: FrameRate?
    ) -> SourceDevice {
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

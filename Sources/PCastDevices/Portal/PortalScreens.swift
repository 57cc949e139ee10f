import PCastCore
import PCastIO

/// The screens that the desktop portal offers.
package enum PortalScreens {
    /// The time for a response while devices are listed.
    private static let listingTimeout = TimeSpan.seconds(2)

    /// The assumed size before the user has chosen a screen, if the portal does not report it.
    static let standardDimensions = Dimensions(width: 1_920, height: 1_080)

    /// Whether a portal with screens responds. It takes some milliseconds.
    package static var isAvailable: Bool { !areas().isEmpty }

    /// Returns a device for each area that the portal offers; empty without a portal. Nothing is captured and no dialog
    /// is shown. The size is unknown until the user has chosen.
    package static func enumerate() -> [SourceDevice] {
        let tokens = PortalTokens()
        return areas().map { area, restores in
            let isRestored = restores && tokens[area] != nil
            return device(PortalSpecification(area: area), dimensions: nil, isRestored: isRestored)
        }
    }

    /// Asks the user, unless the choice is restored, and returns the device with the size of the chosen screen. It
    /// blocks for up to 30 s for each response. Throws `DeviceError.faulty` if the request is refused or there is no
    /// response.
    package static func find(_ specification: PortalSpecification) throws(DeviceError) -> SourceDevice {
        let stream = try PortalSession.shared(specification).opened()
        return device(specification, dimensions: stream.dimensions ?? standardDimensions, isRestored: true)
    }

    private static func areas() -> [(area: PortalSpecification.Area, restores: Bool)] {
        guard let portal = try? ScreenCastPortal(timeout: listingTimeout),
            let offer = try? portal.properties(within: listingTimeout)
        else { return [] }
        return offer.areas.map { ($0, offer.version >= ScreenCastPortal.restoringVersion) }
    }

    static func device(
        _ specification: PortalSpecification, dimensions: Dimensions?, isRestored: Bool
    ) -> SourceDevice {
        let area = specification.area == .monitor ? "Monitor" : "Window"
        let name = "\(area) by the desktop portal (\(isRestored ? "as chosen before" : "a dialog will be shown"))"
        let sizes: CaptureFormat.Sizes =
            if let dimensions {
                .discrete(ScreenGrabber.even(dimensions))
            } else {
                .stepwise(
                    smallest: Dimensions(width: 2, height: 2),
                    largest: Dimensions(
                        width: PipeWireVideoFormat.longestSide, height: PipeWireVideoFormat.longestSide),
                    step: Dimensions(width: 2, height: 2))
            }
        let format = CaptureFormat(
            encoding: .computed, sizes: sizes,
            rates: .range(slowest: FrameRate(1), fastest: Screens.standardRate, isContinuous: true))
        return SourceDevice(
            info: SourceDeviceInfo(
                id: "\(specification)", name: name, mediaType: .video, deviceType: .systemOutput),
            identity: DeviceIdentity(name: area), capabilities: .video(VideoCapabilities(formats: [format])))
    }
}

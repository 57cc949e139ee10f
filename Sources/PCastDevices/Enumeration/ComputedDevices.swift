import PCastCore

/// The computed sources, which every machine has: the test signal, and black frames or silence.
enum ComputedDevices {
    static let synthetic = "synthetic"
    static let null = "null"

    static func list(_ mediaType: MediaType) -> [SourceDevice] {
        let (test, nothing) = mediaType == .video ? ("Test pattern", "Black video") : ("Clapper", "Silence")
        return [
            device(synthetic, test, .synthetic, mediaType), device(null, nothing, .null, mediaType),
        ]
    }

    private static func device(
        _ id: String, _ name: String, _ type: SourceDeviceInfo.DeviceType, _ mediaType: MediaType
    ) -> SourceDevice {
        SourceDevice(
            info: SourceDeviceInfo(id: id, name: name, mediaType: mediaType, deviceType: type),
            identity: DeviceIdentity(name: name),
            capabilities: mediaType == .video
                ? .video(VideoCapabilities(formats: [format]))
                : .audio(AudioCapabilities(sampleRates: [AudioFrame.sampleRate], channels: 1...2)))
    }

    /// Any even size that can contain the time strip, up to 8K, and any rate from 1 to 240.
    private static let format = CaptureFormat(
        encoding: .computed,
        sizes: .stepwise(
            smallest: Dimensions(width: 64, height: 32), largest: Dimensions(width: 7_680, height: 4_320),
            step: Dimensions(width: 2, height: 2)),
        rates: .range(slowest: FrameRate(1), fastest: FrameRate(240), isContinuous: true))
}

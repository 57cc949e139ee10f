import PCastCore

@testable import PCastDevices

/// Typical devices.
enum ConstraintDevices {
    /// A webcam on USB 2. Raw frames have a high rate only at small sizes; MJPEG always has.
    static let webcam = camera(
        "webcam", "Webcam",
        formats: [
            format(.yuyv, 640, 480, [30, 15]), format(.yuyv, 1_280, 720, [10, 5]),
            format(.mjpeg, 640, 480, [30]), format(.mjpeg, 1_280, 720, [30, 15]),
            format(.mjpeg, 1_920, 1_080, [30, 15]),
        ])

    /// The back camera of a telephone.
    static let back = camera(
        "back", "Back camera", facing: .environment,
        formats: [format(.nv12, 1_280, 720, [60, 30]), format(.nv12, 1_920, 1_080, [60, 30])],
        flashModes: Set(FlashMode.allCases), focusModes: [.locked, .autoThenLocked, .continuous],
        hasFocusTarget: true,
        canFollowDevice: true)

    /// The front camera of a telephone.
    static let front = camera(
        "front", "Front camera", facing: .user, formats: [format(.nv12, 1_280, 720, [30])],
        canFollowDevice: true)

    static let testPattern = SourceDevice(
        info: SourceDeviceInfo(
            id: "synthetic", name: "Test pattern", mediaType: .video, deviceType: .synthetic),
        identity: DeviceIdentity(name: "Test pattern"),
        capabilities: .video(VideoCapabilities(formats: [anySize])))

    static let blackFrame = SourceDevice(
        info: SourceDeviceInfo(id: "null", name: "Black video", mediaType: .video, deviceType: .null),
        identity: DeviceIdentity(name: "Black video"),
        capabilities: .video(VideoCapabilities(formats: [anySize])))

    /// A computed source has any size.
    static let anySize = CaptureFormat(
        encoding: .computed,
        sizes: .stepwise(
            smallest: Dimensions(width: 16, height: 16), largest: Dimensions(width: 7_680, height: 4_320),
            step: Dimensions(width: 2, height: 2)),
        rates: .range(slowest: FrameRate(1), fastest: FrameRate(120), isContinuous: true))

    static let mono = microphone("mono", "Headset", channels: 1...1)
    static let stereo = microphone("stereo", "Sound card", channels: 2...2)

    static func camera(
        _ id: String, _ name: String, facing: FacingMode = .undefined,
        location: DeviceLocation = .automatic,
        formats: [CaptureFormat], flashModes: Set<FlashMode> = [.alwaysOff],
        focusModes: Set<AutoFocusMode> = [],
        hasFocusTarget: Bool = false, canFollowDevice: Bool = false, mountRotation: Int = 0
    ) -> SourceDevice {
        SourceDevice(
            info: SourceDeviceInfo(
                id: id, name: name, mediaType: .video, deviceType: .physical, facingMode: facing,
                location: location),
            identity: DeviceIdentity(name: name),
            capabilities: .video(
                VideoCapabilities(
                    formats: formats, flashModes: flashModes, autoFocusModes: focusModes,
                    hasFocusTarget: hasFocusTarget, canFollowDevice: canFollowDevice,
                    mountRotation: mountRotation)))
    }

    static func microphone(
        _ id: String, _ name: String, channels: ClosedRange<Int> = 1...2,
        patterns: Set<PolarPattern> = [],
        location: DeviceLocation = .automatic, canCancelEcho: Bool = true
    ) -> SourceDevice {
        SourceDevice(
            info: SourceDeviceInfo(
                id: id, name: name, mediaType: .audio, deviceType: .physical, location: location),
            identity: DeviceIdentity(name: name),
            capabilities: .audio(
                AudioCapabilities(
                    sampleRates: [48_000], channels: channels, polarPatterns: patterns,
                    canCancelEcho: canCancelEcho)))
    }

    static func format(_ encoding: CaptureEncoding, _ width: Int, _ height: Int, _ rates: [Int])
        -> CaptureFormat
    {
        CaptureFormat(
            encoding: encoding, sizes: .discrete(Dimensions(width: width, height: height)),
            rates: .discrete(rates.map { FrameRate($0) }))
    }
}

extension DeviceConstraint {
    static func min(_ number: Double) -> DeviceConstraint {
        DeviceConstraint(.number(number), kind: .min)
    }
    static func max(_ number: Double) -> DeviceConstraint {
        DeviceConstraint(.number(number), kind: .max)
    }
    static func exact(_ number: Double) -> DeviceConstraint {
        DeviceConstraint(.number(number), kind: .exact)
    }
    static func ideal(_ number: Double) -> DeviceConstraint { DeviceConstraint(.number(number)) }
    static func exact(_ value: Value) -> DeviceConstraint { DeviceConstraint(value, kind: .exact) }
    static func ideal(_ value: Value) -> DeviceConstraint { DeviceConstraint(value) }
}

public import PCastCore
import Synchronization

/// Lists source devices, selects one for a request, and opens it.
package enum SourceDevices {
    /// Returns every source of a media type with its capabilities, in order of preference: hardware, the system's
    /// output, computed sources. Throws `DeviceError.misconfigured` if the device rules cannot be read.
    package static func list(_ mediaType: MediaType) throws(DeviceError) -> [SourceDevice] {
        let found =
            mediaType == .video
            ? cameras() + screens()
            : Microphones.enumerate() + ServerAudio.enumerate()
        do throws(DeviceRulesError) {
            return try DeviceRules.standard.applied(to: found) + ComputedDevices.list(mediaType)
        } catch {
            throw .misconfigured(reason: "\(error)")
        }
    }

    /// In a Wayland session, the screens of the portal precede those of X11, which then contain X programs only.
    private static func screens() -> [SourceDevice] {
        let portal = PortalScreens.enumerate()
        let isPreferred = PortalSpecification.standard(hasPortal: { !portal.isEmpty }) != nil
        return isPreferred ? portal + Screens.enumerate() : Screens.enumerate() + portal
    }

    /// The cameras of V4L2, and those that only PipeWire has. An accelerometer belongs to the machine, so every camera can
    /// follow it.
    private static func cameras() -> [SourceDevice] {
        var cameras = Cameras.enumerate()
        let canCapture = cameras.contains { device in
            guard case .video(let capabilities) = device.capabilities else { return false }
            return capabilities.formats.contains { $0.encoding.isCapturable }
        }
        cameras += PipeWireCameras.enumerate(hasOthers: canCapture)
        guard !cameras.isEmpty, AccelerometerMonitor().isPresent else { return cameras }
        for index in cameras.indices {
            guard case .video(var capabilities) = cameras[index].capabilities else { continue }
            capabilities.canFollowDevice = true
            cameras[index].capabilities = .video(capabilities)
        }
        return cameras
    }

    /// Returns the descriptions of every source of a media type, in order of preference. Throws
    /// `DeviceError.misconfigured` if the device rules cannot be read.
    package static func enumerate(_ mediaType: MediaType) throws(DeviceError) -> [SourceDeviceInfo] {
        try list(mediaType).map(\.info)
    }

    // MARK: Selecting

    /// Returns the best video source for a request. Throws `DeviceError.notFound`, or `.unmet` if no device satisfies a
    /// required constraint.
    package static func select(_ request: VideoRequest) throws(DeviceError) -> VideoSelection {
        let candidates = try candidates(request.source, .video, named: request.constraints)
        do throws(ConstraintFailure) {
            let selection = try ConstraintSolver.selectVideo(
                from: candidates, constraints: request.constraints, prefersCoded: request.passesCameraThrough,
                allowsScaling: request.allowsScaling)
            if let selection { return selection }
        } catch {
            throw .unmet(error)
        }
        throw notFound(request.source, .video)
    }

    /// Returns the best audio source for a request. Throws `DeviceError.notFound`, or `.unmet` if no device satisfies a
    /// required constraint.
    package static func select(_ request: AudioRequest) throws(DeviceError) -> AudioSelection {
        let candidates = try candidates(request.source, .audio, named: request.constraints)
        do throws(ConstraintFailure) {
            let selection = try ConstraintSolver.selectAudio(from: candidates, constraints: request.constraints)
            if let selection { return selection }
        } catch {
            throw .unmet(error)
        }
        throw notFound(request.source, .audio)
    }

    /// Returns the devices that a specification may refer to.
    private static func candidates(
        _ source: SourceSpecification, _ mediaType: MediaType, named constraints: DeviceConstraints
    ) throws(DeviceError) -> [SourceDevice] {
        let identifiers = (constraints[.deviceID] ?? []).compactMap { constraint in
            if case .text(let id) = constraint.value { id } else { nil }
        }
        let all = { (type: SourceDeviceInfo.DeviceType) throws(DeviceError) in
            try list(mediaType).filter { $0.info.deviceType == type }
        }
        switch source {
        case .camera(let id) where mediaType == .video, .microphone(let id) where mediaType == .audio:
            guard let id else {
                return try list(mediaType).filter { device in
                    device.info.deviceType == .physical || identifiers.contains(device.info.id)
                }.map { device throws(DeviceError) in
                    guard let portal = try PortalSpecification.parse(device.info.id) else { return device }
                    return try PortalScreens.find(portal)
                }
            }
            let all = try list(mediaType)
            let named = mediaType == .audio ? ServerAudio.find(id, in: all) : all.filter { $0.info.id == id }
            guard named.isEmpty, mediaType == .video, let other = Cameras.identifier(of: id) else { return named }
            return all.filter { $0.info.id == other }
        case .screen(let text) where mediaType == .video:
            let portal =
                if let text { try PortalSpecification.parse(text) } else { PortalSpecification.standard() }
            if let portal { return [try PortalScreens.find(portal)] }
            return [
                try Screens.find(
                    try text.map { text throws(DeviceError) in try ScreenSpecification(text) } ?? ScreenSpecification())
            ]
        case .screen(let id):
            let outputs = try all(.systemOutput)
            if let id { return ServerAudio.find(id, in: outputs).filter { $0.info.deviceType == .systemOutput } }
            return outputs.filter { ApplicationAudio.name(inID: $0.info.id) == nil }
        case .application(let name) where mediaType == .audio: return [try ServerAudio.program(name)]
        case .synthetic: return ComputedDevices.list(mediaType).filter { $0.info.deviceType == .synthetic }
        case .null: return ComputedDevices.list(mediaType).filter { $0.info.deviceType == .null }
        case .camera: throw .unusable("\(source)", reason: "a camera has no audio")
        case .microphone: throw .unusable("\(source)", reason: "a microphone has no video")
        case .application: throw .unusable("\(source)", reason: "only the audio of a program can be captured")
        case .uri: throw .unusable("\(source)", reason: "a file or a URI has no options")
        }
    }

    private static func notFound(_ source: SourceSpecification, _ mediaType: MediaType) -> DeviceError {
        if mediaType == .video, let closed = Cameras.closedNodes().first { return closed }
        return .notFound("\(source)", lookedIn: mediaType == .video ? "/dev/video*" : "/dev/snd")
    }

    // MARK: Opening

    /// Opens the selected device. The caller owns it until it calls `stop`.
    static func open(_ selection: VideoSelection, _ request: VideoRequest) throws(DeviceError) -> any VideoSource {
        let (device, configuration) = (selection.device.info, selection.configuration)
        switch device.deviceType {
        case .physical:
            if let name = PipeWireCameras.name(inID: device.id) {
                return try PipeWireCameraSource(name: name, configuration: configuration)
            }
            return try CameraSource(
                id: device.id, configuration: configuration,
                passesThrough: request.passesCameraThrough && !configuration.isDerived,
                locksFrameRate: request.demandsFrameRate)
        case .systemOutput:
            let frameRate = min(FrameRate(240), configuration.frameRate)
            if let portal = try PortalSpecification.parse(device.id) {
                return try PortalScreenSource(portal, frameRate: frameRate)
            }
            return try ScreenSource(ScreenSpecification(device.id), frameRate: frameRate)
        case .synthetic: return SyntheticVideoSource(configuration)
        case .null, .uri: return NullVideoSource(configuration)
        }
    }

    /// Opens the selected device. The caller owns it until it calls `stop`.
    static func open(_ selection: AudioSelection) throws(DeviceError) -> any AudioSource {
        let (device, configuration) = (selection.device.info, selection.configuration)
        switch device.deviceType {
        case .physical, .systemOutput:
            let source = try ServerAudio.open(device, channels: configuration.channels.channels)
            if let source { return source }
            return try MicrophoneSource(id: device.id, configuration: configuration)
        case .synthetic: return SyntheticAudioSource(channels: configuration.channels.channels)
        case .null, .uri: return NullAudioSource(channels: configuration.channels.channels)
        }
    }
}

extension SourceDevices {
    /// Returns a stream of the devices that are connected and disconnected from now on, until its reader cancels it. A
    /// device is reported when it can be opened. Throws `DeviceError` if devices cannot be watched, or
    /// `.misconfigured`.
    package static func changes(_ mediaType: MediaType) throws(DeviceError) -> AsyncStream<SourceDeviceChange> {
        let known = Mutex(try devices(mediaType))
        let (stream, continuation) = AsyncStream<SourceDeviceChange>.makeStream(bufferingPolicy: .bufferingNewest(256))
        let report = { @Sendable in
            // The devices are listed while the lock is held, because several monitors report changes.
            known.withLock { known in
                guard let now = try? devices(mediaType) else { return }
                for device in known where !now.contains(where: { $0.id == device.id }) {
                    continuation.yield(.departed(device))
                }
                for device in now where !known.contains(where: { $0.id == device.id }) {
                    continuation.yield(.arrived(device))
                }
                known = now
            }
        }
        let nodes = try DeviceNodeMonitor(changed: report)
        let others = try PipeWireDeviceMonitor(mediaType == .video ? .cameras : .audio, changed: report)
        let audio = mediaType == .audio ? try PulseDeviceMonitor(changed: report) : nil
        continuation.onTermination = { _ in
            nodes.stop()
            others.stop()
            audio?.stop()
        }
        return stream
    }

    /// Returns the sources that can be connected and disconnected. Programs that play are no devices.
    private static func devices(_ mediaType: MediaType) throws(DeviceError) -> [SourceDeviceInfo] {
        try enumerate(mediaType).filter { ApplicationAudio.name(inID: $0.id) == nil }
    }
}

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

/// A source device with its capabilities.
public struct SourceDevice: Hashable, Sendable {
    /// The capabilities by media type.
    public enum Capabilities: Hashable, Sendable {
        case video(VideoCapabilities)
        case audio(AudioCapabilities)
    }

    /// The description of the device.
    public var info: SourceDeviceInfo
    /// The identity of the hardware.
    public var identity: DeviceIdentity
    /// The capabilities.
    public var capabilities: Capabilities

    /// Creates a device.
    public init(info: SourceDeviceInfo, identity: DeviceIdentity, capabilities: Capabilities) {
        self.info = info
        self.identity = identity
        self.capabilities = capabilities
    }
}

/// The description of a source device (Phenix: `PhenixSourceDeviceInfo`).
public struct SourceDeviceInfo: Hashable, Sendable {
    /// The type of a source device (Phenix: `PhenixSourceDeviceType`).
    public enum DeviceType: String, Hashable, Sendable, CaseIterable {
        /// Black frames or silence.
        case null
        /// Hardware: a camera or a microphone.
        case physical
        /// The output of the system, such as a screen.
        case systemOutput = "system-output"
        /// Computed: the test pattern and the clapper.
        case synthetic
        /// A file or an address.
        case uri
    }

    /// The identifier for `SourceSpecification` and `SourceDevices`. Hardware keeps it across restarts and kernel
    /// renumbering.
    public var id: String

    /// The name for display.
    public var name: String
    /// The media type.
    public var mediaType: MediaType
    /// The type of the device.
    public var deviceType: DeviceType
    /// The direction that a camera faces.
    public var facingMode: FacingMode
    /// The location on a phone or tablet.
    public var location: DeviceLocation

    /// Creates a description.
    public init(
        id: String, name: String, mediaType: MediaType, deviceType: DeviceType, facingMode: FacingMode = .undefined,
        location: DeviceLocation = .automatic
    ) {
        self.id = id
        self.name = name
        self.mediaType = mediaType
        self.deviceType = deviceType
        self.facingMode = facingMode
        self.location = location
    }
}

/// A device that was connected or disconnected.
public enum SourceDeviceChange: Hashable, Sendable {
    case arrived(SourceDeviceInfo)
    case departed(SourceDeviceInfo)

    /// The device.
    public var device: SourceDeviceInfo {
        switch self {
        case .arrived(let device), .departed(let device): device
        }
    }
}

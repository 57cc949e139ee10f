public import PCast

// The names of Phenix's SDK for iOS, as Swift imports them from its public headers (version 2022.0.4).

/// The result of a request (Phenix: `PhenixRequestStatus`).
public typealias PhenixRequestStatus = RequestStatus
/// A type of media (Phenix: `PhenixMediaType`).
public typealias PhenixMediaType = MediaType
/// The reason for a stream's end (Phenix: `PhenixStreamEndedReason`).
public typealias PhenixStreamEndedReason = StreamEndedReason
/// The status of the data quality (Phenix: `PhenixDataQualityStatus`).
public typealias PhenixDataQualityStatus = DataQuality.Status
/// The reason for the data quality (Phenix: `PhenixDataQualityReason`).
public typealias PhenixDataQualityReason = DataQuality.Reason
/// The dimensions of a frame in pixels (Phenix: `PhenixDimensions`).
public typealias PhenixDimensions = Dimensions

/// The kind of a constraint (Phenix: `PhenixConstraintType`).
public typealias PhenixConstraintType = DeviceConstraint.Kind
/// The direction in which a camera faces (Phenix: `PhenixFacingMode`).
public typealias PhenixFacingMode = FacingMode
/// The mode of the flash (Phenix: `PhenixFlashMode`).
public typealias PhenixFlashMode = FlashMode
/// The location of a device (Phenix: `PhenixLocation`).
public typealias PhenixLocation = DeviceLocation
/// The polar pattern of a microphone (Phenix: `PhenixPolarPattern`).
public typealias PhenixPolarPattern = PolarPattern
/// The mode of echo cancellation (Phenix: `PhenixAudioEchoCancellationMode`).
public typealias PhenixAudioEchoCancellationMode = AudioEchoCancellationMode
/// The rotation of a video source (Phenix: `PhenixVideoSourceRotationMode`).
public typealias PhenixVideoSourceRotationMode = VideoSourceRotationMode
/// The mode of the auto-focus (Phenix: `PhenixAutoFocusMode`).
public typealias PhenixAutoFocusMode = AutoFocusMode
/// The description of a source device (Phenix: `PhenixSourceDeviceInfo`).
public typealias PhenixSourceDeviceInfo = SourceDeviceInfo
/// The type of a source device (Phenix: `PhenixSourceDeviceType`).
public typealias PhenixSourceDeviceType = SourceDeviceInfo.DeviceType

/// The stream of this machine's sources (Phenix: `PhenixUserMediaStream`).
public typealias PhenixUserMediaStream = UserMediaStream
/// A stream that can be rendered or published (Phenix: `PhenixMediaStream`).
public typealias PhenixMediaStream = MediaStream
/// A published stream (Phenix: `PhenixPublisher`).
public typealias PhenixPublisher = Publisher
/// A renderer of a stream (Phenix: `PhenixRenderer`).
public typealias PhenixRenderer = Renderer
/// The result of a renderer's start (Phenix: `PhenixRendererStartStatus`).
public typealias PhenixRendererStartStatus = RendererStartStatus

extension VideoSourceRotationMode {
    /// The rotation that follows the user interface, in Phenix's spelling.
    public static var followUiRotation: VideoSourceRotationMode { .followUIRotation }
}

extension Dimensions {
    /// The dimensions. Phenix passes a pointer to them (`displayDimensions->width`).
    public var pointee: Dimensions { self }
}

extension Publisher {
    /// The platform's ID of the stream.
    public var streamId: String! { streamID.description }

    /// Stops publishing. The platform and the viewers receive the reason.
    public func stop(_ reason: String!) { stop(reason: reason ?? "") }
}

/// The fitting of frames to a surface (Phenix: `PhenixAspectRatioMode`).
public typealias PhenixAspectRatioMode = AspectRatioMode

/// The options of a renderer (Phenix: `PhenixRendererOptions`).
public final class PhenixRendererOptions {
    /// The fitting of frames to a surface with another aspect ratio.
    public var aspectRatioMode = PhenixAspectRatioMode.automatic
    /// Whether the preview of a camera that faces the user is mirrored.
    public var autoMirroringEnabled = false
    /// Whether video is not shown.
    public var useNullVideoDevice = false
    /// Whether audio is not played.
    public var useNullAudioDevice = false

    /// Creates the default options.
    public init() {}

    /// The options of `Renderer`.
    var options: RendererOptions {
        RendererOptions(
            useNullAudioDevice: useNullAudioDevice, useNullVideoDevice: useNullVideoDevice,
            aspectRatioMode: aspectRatioMode, autoMirroringEnabled: autoMirroringEnabled)
    }
}

extension MediaStream {
    /// Creates a renderer, which has to be started.
    public func createRenderer(_ options: PhenixRendererOptions!) -> PhenixRenderer! {
        createRenderer((options ?? PhenixRendererOptions()).options)
    }
}

extension Renderer {
    /// Whether the audio is muted.
    public var audioMuted: Bool { isAudioMuted }
}

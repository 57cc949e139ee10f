public import PCast

// What Phenix's SDK for iOS calls it, as Swift sees those names (seed 004; headers of its SDK 2022.0.4).

public typealias PhenixRequestStatus = RequestStatus
public typealias PhenixMediaType = MediaType
public typealias PhenixStreamEndedReason = StreamEndedReason
public typealias PhenixDataQualityStatus = DataQuality.Status
public typealias PhenixDataQualityReason = DataQuality.Reason
public typealias PhenixDimensions = Dimensions

public typealias PhenixConstraintType = DeviceConstraint.Kind
public typealias PhenixFacingMode = FacingMode
public typealias PhenixFlashMode = FlashMode
public typealias PhenixLocation = DeviceLocation
public typealias PhenixPolarPattern = PolarPattern
public typealias PhenixAudioEchoCancellationMode = AudioEchoCancellationMode
public typealias PhenixVideoSourceRotationMode = VideoSourceRotationMode
public typealias PhenixAutoFocusMode = AutoFocusMode
public typealias PhenixSourceDeviceInfo = SourceDeviceInfo
public typealias PhenixSourceDeviceType = SourceDeviceInfo.DeviceType

public typealias PhenixUserMediaStream = UserMediaStream
public typealias PhenixMediaStream = MediaStream
public typealias PhenixPublisher = Publisher
public typealias PhenixRenderer = Renderer
public typealias PhenixRendererStartStatus = RendererStartStatus

extension VideoSourceRotationMode {
    public static var followUiRotation: VideoSourceRotationMode { .followUIRotation }
}

extension Dimensions {
    /// Phenix hands dimensions on by a pointer (`displayDimensions->width`).
    public var pointee: Dimensions { self }
}

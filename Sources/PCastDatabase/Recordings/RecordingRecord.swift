public import PCastCore

/// The recording of a stream.
public struct RecordingRecord: Sendable, Hashable {
    /// The stream, which has at most one recording.
    public var stream: StreamID
    /// The application of the stream.
    public var application: ApplicationID
    /// The time at which the recording began.
    public var began: WallTime
    /// The time at which the recording ended; nil while it is being written.
    public var ended: WallTime?
    /// The reason of an end before that of the stream, such as a full disk; nil if there is none.
    public var failure: String?
    /// The time at which the recording was deleted; nil if it exists.
    public var deleted: WallTime?
    /// The bytes of its segments in files.
    public var size: Int64
    /// The sum of the durations of the segments of its longest rendition.
    public var duration: TimeSpan
    /// The number of packagers that have written to it. Each is an epoch, from 0.
    public var epochs: Int

    /// Creates a record.
    public init(
        stream: StreamID, application: ApplicationID, began: WallTime, ended: WallTime? = nil, failure: String? = nil,
        deleted: WallTime? = nil, size: Int64 = 0, duration: TimeSpan = .zero, epochs: Int = 1
    ) {
        self.stream = stream
        self.application = application
        self.began = began
        self.ended = ended
        self.failure = failure
        self.deleted = deleted
        self.size = size
        self.duration = duration
        self.epochs = epochs
    }
}

/// The state of a recording.
public enum RecordingState: Hashable, Sendable {
    /// It is being written, or the platform was killed meanwhile.
    case open
    /// It has ended, and the index has all of its segments.
    case ended
    /// It was deleted. Files may remain if the platform was killed meanwhile.
    case deleted
}

/// A rendition of a recording in one epoch.
public struct RecordedRendition: Sendable, Hashable {
    /// The stream of the recording.
    public var stream: StreamID
    /// The number of the epoch.
    public var epoch: Int
    /// The name of the rendition, which is unique in the epoch.
    public var name: String
    /// The prefix of file names in URIs.
    public var instance: String
    /// The codec string (RFC 6381).
    public var codec: String
    /// The size of the video; nil for audio.
    public var dimensions: Dimensions?
    /// The frame rate; nil for audio, and if it is not known.
    public var frameRate: Double?
    /// The number of audio channels; nil for video.
    public var channels: Int?

    /// Creates a record.
    public init(
        stream: StreamID, epoch: Int, name: String, instance: String, codec: String, dimensions: Dimensions? = nil,
        frameRate: Double? = nil, channels: Int? = nil
    ) {
        self.stream = stream
        self.epoch = epoch
        self.name = name
        self.instance = instance
        self.codec = codec
        self.dimensions = dimensions
        self.frameRate = frameRate
        self.channels = channels
    }
}

/// A segment of a recording, whose media are in one range of a file.
public struct SegmentRecord: Sendable, Hashable {
    /// The stream of the recording.
    public var stream: StreamID
    /// The number of the epoch.
    public var epoch: Int
    /// The name of the rendition.
    public var rendition: String
    /// The media sequence number in the epoch.
    public var number: Int64
    /// The number of the file.
    public var file: Int
    /// The offset of the first part in the file.
    public var offset: Int64
    /// The number of bytes in the file, including the headers of the parts.
    public var length: Int64
    /// The capture time of its beginning.
    public var start: WallTime
    /// The duration.
    public var duration: TimeSpan
    /// The number of the initialization segment.
    public var initialization: Int
    /// The discontinuity sequence number in the epoch.
    public var discontinuity: Int64
    /// Whether the segment has no media.
    public var isGap: Bool

    /// Creates a record.
    public init(
        stream: StreamID, epoch: Int, rendition: String, number: Int64, file: Int, offset: Int64, length: Int64,
        start: WallTime, duration: TimeSpan, initialization: Int, discontinuity: Int64, isGap: Bool
    ) {
        self.stream = stream
        self.epoch = epoch
        self.rendition = rendition
        self.number = number
        self.file = file
        self.offset = offset
        self.length = length
        self.start = start
        self.duration = duration
        self.initialization = initialization
        self.discontinuity = discontinuity
        self.isGap = isGap
    }
}

/// A change of recordings. Each is idempotent.
public enum RecordingChange: Sendable {
    /// A packager of the stream begins to record, as the next epoch if the recording exists.
    case began(RecordingRecord)
    /// The properties of a rendition are known or have changed.
    case rendition(RecordedRendition)
    /// Segments are complete and on the disk.
    case segments([SegmentRecord])
    /// Segments are not on the disk any more. They are identified by stream, epoch, rendition and number.
    case lost([SegmentRecord])
    /// A file is complete, and will be uploaded.
    case upload(UploadRecord, at: WallTime)
    /// The recording ended. The event `on-demand` is sent with its playlist at a path, unless nothing was recorded.
    case ended(StreamID, at: WallTime, failure: String?, playlist: String)
    /// The recording is deleted. Its files are removed next, and its objects when the object store responds.
    case deleted(StreamID, at: WallTime)
}

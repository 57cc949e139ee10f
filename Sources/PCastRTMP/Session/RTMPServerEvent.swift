package import PCastCore

/// An event of a connection, in the order in which the driver receives it.
package enum RTMPServerEvent: Hashable, Sendable {
    /// The client has connected.
    case connected(RTMPClientInformation)
    /// The client asks to publish a stream. The driver answers with `acceptPublishing` or `close`. Until then the
    /// session processes no further input.
    case publishRequested(RTMPPublishAddress)
    /// The publisher declares properties of its stream, or others than before.
    case metadata(RTMPStreamMetadata)
    /// The configuration of a track is new or has changed.
    case configuration(RTMPTrackID, RTMPCodecConfiguration)
    /// A frame.
    case accessUnit(RTMPAccessUnit)
    /// A track has ended. It may begin again.
    case trackEnded(RTMPTrackID)
    /// A problem with which the stream continues, each once.
    case warning(RTMPWarning)
    /// The publisher has ended its stream. It may publish another one.
    case unpublished
    /// The last event: the driver sends the remaining output and closes the connection. The error is nil if the driver
    /// or the client closed it.
    case closed(RTMPError?)
}

/// The configuration of a server's sessions.
package struct RTMPServerConfiguration: Hashable, Sendable {
    /// The limits of chunks and messages.
    package var limits = RTMPLimits()
    /// The video codecs that are accepted, which are announced in this order.
    package var videoCodecs: [FourCC] = [.h264, .hevc, .av1, .vp9, .vp8]
    /// The audio codecs that are accepted, which are announced in this order.
    package var audioCodecs: [FourCC] = [.aac, .opus]
    /// The time from the beginning of the connection, or from the end of a stream, until a client must publish.
    package var setupTimeout = TimeSpan.seconds(15)
    /// The time without any data after which a publisher's connection is closed.
    package var silenceTimeout = TimeSpan.seconds(30)
    /// The maximum size of the input that is kept while the driver decides about a stream, in bytes.
    package var maximumPendingInput = 512 * 1_024
    /// The maximum size of the output that the driver has not taken, in bytes.
    package var maximumOutput = 64 * 1_024

    /// Creates the default configuration.
    package init() {}
}

/// Counters of a connection.
package struct RTMPServerStatistics: Hashable, Sendable {
    /// The number of bytes that were received.
    package var receivedBytes: UInt64 = 0
    /// The number of complete messages, without those about chunks.
    package var messages: UInt64 = 0
    /// The number of messages that were ignored: media before a stream is accepted, unknown types and metadata.
    package var ignoredMessages: UInt64 = 0
    /// The number of frames and media messages that were dropped because they are malformed or not supported.
    package var droppedFrames = 0
}

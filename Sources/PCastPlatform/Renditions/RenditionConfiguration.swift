import Foundation

/// The configuration of renditions: lower layers that a process of the platform makes of a stream with one layer, only
/// while a viewer needs them.
public struct RenditionConfiguration: Hashable, Sendable {
    /// The streams that have renditions.
    public enum Streams: String, CaseIterable, Sendable {
        /// No stream.
        case off
        /// The streams whose publisher's token has the capability `multi-bitrate`.
        case requested
        /// Every stream with one layer.
        case all
    }

    /// The streams that have renditions.
    public var streams = Streams.requested
    /// The maximum number of processes, one for each stream of which renditions are made. If all are in use, viewers of
    /// other streams are served as without renditions.
    public var maximumProcesses = defaultMaximumProcesses
    /// The path of the program; nil to make no renditions.
    public var program: String?
    /// The arguments of the program, `make-renditions` for `pcast`.
    public var arguments: [String] = []

    /// The default of ``maximumProcesses``: one for each two processors, at least one.
    public static var defaultMaximumProcesses: Int { max(1, ProcessInfo.processInfo.activeProcessorCount / 2) }

    /// Creates the default configuration, which has no program.
    public init() {}
}

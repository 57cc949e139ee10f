/// A file of a recording in an object store.
package struct RemoteFile: Sendable {
    /// The name of the object, for messages.
    package let name: String
    /// The size in bytes.
    package let size: Int64
    /// Returns the bytes of a range, all of them. It may wait.
    package let read: @Sendable (Range<Int64>) throws(RecordingError) -> [UInt8]

    /// Creates a description.
    package init(
        name: String, size: Int64, read: @escaping @Sendable (Range<Int64>) throws(RecordingError) -> [UInt8]
    ) {
        self.name = name
        self.size = size
        self.read = read
    }
}

/// The files of a recording: on the disk, or in an object store if they were uploaded and are not on the disk any more.
package struct RecordingFiles: Sendable {
    /// The folder on the disk.
    package let folder: RecordingFolder
    private let remote: (@Sendable (RecordingFolder.FileName) throws(RecordingError) -> RemoteFile?)?

    /// Creates the files of a folder.
    ///
    /// - Parameters:
    ///   - folder: The folder.
    ///   - remote: Returns the object of a file that is not on the disk; nil if it was not uploaded. It may wait.
    package init(
        _ folder: RecordingFolder,
        remote: (@Sendable (RecordingFolder.FileName) throws(RecordingError) -> RemoteFile?)? = nil
    ) {
        self.folder = folder
        self.remote = remote
    }

    /// Opens a file for reading.
    ///
    /// - Throws: ``RecordingError``.
    package func open(_ name: RecordingFolder.FileName) throws(RecordingError) -> PartFileReader {
        if let remote, !folder.contains(name), let object = try remote(name) { return PartFileReader(object) }
        return try PartFileReader(folder.path(of: name))
    }
}

import Glibc

/// The permissions of a device node.
enum NodePermissions {
    /// Returns the group whose members may read and write it; nil if there is none other than root's.
    static func group(of path: String) -> String? {
        var status = stat()
        let readAndWrite = S_IRGRP | S_IWGRP
        guard stat(path, &status) == 0, status.st_gid != 0, status.st_mode & readAndWrite == readAndWrite else {
            return nil
        }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4_096) { buffer in
            var record = Glibc.group()
            var result: UnsafeMutablePointer<Glibc.group>?
            guard getgrgid_r(status.st_gid, &record, buffer.baseAddress!, buffer.count, &result) == 0, result != nil
            else { return String(status.st_gid) }
            return String(cString: record.gr_name)
        }
    }
}

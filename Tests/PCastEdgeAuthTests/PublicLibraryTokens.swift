import PCastEdgeAuth

/// Tokens of the public Python library phenix-edge-auth 1.2.6, and the calls that made them.
enum PublicLibraryTokens {
    static let all: [(builder: EdgeTokenBuilder, encoded: String)] = [
        (
            EdgeTokenBuilder()
                .withApplicationId("<==\">0Z\"")
                .withSecret("'&ZX=-Yc")
                .withUri("cbb01&a=_")
                .expiresAt(milliseconds: 1)
                .forTag("-\\a c='9:<c")
                .forAuthenticationOnly()
                .forPublishingOnly(),
            """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoiPD09XCI+MFpcIiIsImRpZ2VzdCI6IjVaNmFldkpaZXVkNUhhYm9mQXlGRm9\
            ldTBhMXFRMy9yOG0xWHYxVHFYZnpVR3l6OVlxRXJUa0JtWWozYi9KRk1UdHBUeEx2Z3djd0s3bnZoc3Rpd2ZnPT0iL\
            CJ0b2tlbiI6IntcInVyaVwiOlwiY2JiMDEmYT1fXCIsXCJleHBpcmVzXCI6MSxcInJlcXVpcmVkVGFnXCI6XCItXFx\
            cXGEgYz0nOTo8Y1wiLFwidHlwZVwiOlwicHVibGlzaFwifSJ9
            """
        ),
        (
            EdgeTokenBuilder()
                .withApplicationId("9_1\"-ac>X/X-")
                .withSecret("ca a00b")
                .forChannelAlias("a:XY1\t")
                .forChannel("ab")
                .expiresAt(milliseconds: 1)
                .applyTag("\"0\nY:'/X")
                .forTag(":0a9>-a"),
            """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoiOV8xXCItYWM+WC9YLSIsImRpZ2VzdCI6IjdSZGpoOUhlS1R4am1OOUI4cU1\
            CODdNS0VCNjZ4YWxPZTRVQlVwb1crdG02YUlSQ2luWUZhVzVTcGRaZkk5bTdrNVZkbVVXdHdkODNPeW5KOWlIbE9BP\
            T0iLCJ0b2tlbiI6IntcInJlcXVpcmVkVGFnXCI6XCI6MGE5Pi1hXCIsXCJleHBpcmVzXCI6MSxcImFwcGx5VGFnc1w\
            iOltcIlxcXCIwXFxuWTonL1hcIl19In0=
            """
        ),
        (
            EdgeTokenBuilder()
                .withApplicationId("Z/&'")
                .withSecret("XbY0=9a&_-")
                .withCapability("\n0Z\n")
                .withCapability("-1&")
                .withCapability("/Z'")
                .withUri("<0 /\\&c:bXX")
                .expiresAt(milliseconds: 1)
                .forRoom("\t/9:&\\-\"Z\ncY")
                .forSession("\\<'&"),
            """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoiWi8mJyIsImRpZ2VzdCI6Im5NTTdsVmZEOCtPNXp2MURCdDh0Sk94NFdxTHp\
            xRXMwK1hydnd0TlVqcFE4RTc4eGlmcVFLL3VsWkxwRldnaTVNUEw0YVZIWjB3TmFxcE1pSC82enV3PT0iLCJ0b2tlb\
            iI6IntcImNhcGFiaWxpdGllc1wiOltcIlxcbjBaXFxuXCIsXCItMSZcIixcIi9aJ1wiXSxcInVyaVwiOlwiPDAgL1x\
            cXFwmYzpiWFhcIixcImV4cGlyZXNcIjoxLFwicmVxdWlyZWRUYWdcIjpcInJvb21JZDpcXHQvOTomXFxcXC1cXFwiW\
            lxcbmNZXCIsXCJzZXNzaW9uSWRcIjpcIlxcXFw8JyZcIn0ifQ==
            """
        ),
        (
            EdgeTokenBuilder()
                .withApplicationId("c900\nac9:=")
                .withSecret("bbZ-")
                .forRoom("ba\\.\t-ba&'")
                .expiresAt(milliseconds: 1000)
                .applyTag("-_Ycc=<.\nb\n\n")
                .forPublishingOnly()
                .withCapability("\\c:a\\>a& //")
                .withCapability("_.c")
                .withCapability("a&ccc'X9:\n"),
            """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoiYzkwMFxuYWM5Oj0iLCJkaWdlc3QiOiJLeEE3SnNnSTFEOElxK3A5WFlkRVI\
            1bXpiczlMN3RSRklkZVovOTExMlk3WUVUdE1LMjM1ck1xU3NkUEY5dXNhLytoUytDNHNYeis0YURwRnp1THh1QT09I\
            iwidG9rZW4iOiJ7XCJyZXF1aXJlZFRhZ1wiOlwicm9vbUlkOmJhXFxcXC5cXHQtYmEmJ1wiLFwiZXhwaXJlc1wiOjE\
            wMDAsXCJhcHBseVRhZ3NcIjpbXCItX1ljYz08LlxcbmJcXG5cXG5cIl0sXCJ0eXBlXCI6XCJwdWJsaXNoXCIsXCJjY\
            XBhYmlsaXRpZXNcIjpbXCJcXFxcYzphXFxcXD5hJiAvL1wiLFwiXy5jXCIsXCJhJmNjYydYOTpcXG5cIl19In0=
            """
        ),
        (
            EdgeTokenBuilder()
                .withApplicationId("/\n\t>==")
                .withSecret("<c\"\"a-&c")
                .forPublishingOnly()
                .expiresAt(milliseconds: 1)
                .withUri("&0\"Z_ =\\1_/")
                .forSession("90':00/1>_0"),
            """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoiL1xuXHQ+PT0iLCJkaWdlc3QiOiJveXVsMFZGaTI5YTdBVGNHdDVWM1kvcWZ\
            0WjRzMnVYcjJ0dXg0UjZxRW4wM0ttdEFCU2RkZ1hwWnc2M0V1ZnV3RUVWeWtmeFZEOTJWK0lzcmtLSkY1QT09Iiwid\
            G9rZW4iOiJ7XCJ0eXBlXCI6XCJwdWJsaXNoXCIsXCJleHBpcmVzXCI6MSxcInVyaVwiOlwiJjBcXFwiWl8gPVxcXFw\
            xXy9cIixcInNlc3Npb25JZFwiOlwiOTAnOjAwLzE+XzBcIn0ifQ==
            """
        ),
        (
            EdgeTokenBuilder()
                .withApplicationId("Y\\.")
                .withSecret("\t")
                .applyTag("=\\")
                .expiresAt(milliseconds: 3445686535907431),
            """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoiWVxcLiIsImRpZ2VzdCI6IkpWZnVhN3ZQM2xKNlB3THJTZnhBNk0vM081US9\
            sbG45QUFkZE15RC85cUF6VmdnZFpxdlJVMXNwSkw5MWY1cC8xUWFkeHFkc3ArRHZLVU9CQjZ3ZDZ3PT0iLCJ0b2tlb\
            iI6IntcImFwcGx5VGFnc1wiOltcIj1cXFxcXCJdLFwiZXhwaXJlc1wiOjM0NDU2ODY1MzU5MDc0MzF9In0=
            """
        ),
        (
            EdgeTokenBuilder()
                .withApplicationId("_\t&=_cb9&b ")
                .withSecret("9>.-'>a'Y/=0")
                .applyTag("'")
                .expiresAt(milliseconds: 1000),
            """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoiX1x0Jj1fY2I5JmIgIiwiZGlnZXN0IjoiZFY4bUNWWW12T2tLZ3FtVmRtMmV\
            0WDhBRDhpYVZOcE41NTZoSFhadEdqUjlQVFRYVjYvZGFNV29rbXNxYjBZMU5CTzRzcG96Y3lEd0cwOCt5d0cvUWc9P\
            SIsInRva2VuIjoie1wiYXBwbHlUYWdzXCI6W1wiJ1wiXSxcImV4cGlyZXNcIjoxMDAwfSJ9
            """
        ),
        (
            EdgeTokenBuilder()
                .withApplicationId("<''.c 00\\9Z")
                .withSecret("a\\<\tbZ19.<\t\"")
                .expiresAt(milliseconds: 253402300799000)
                .forAuthenticationOnly()
                .forAuthenticationOnly()
                .forRoomAlias("_'0X\n'\tX")
                .forChannel("1/c-")
                .applyTag("_9\ta.\"cb="),
            """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoiPCcnLmMgMDBcXDlaIiwiZGlnZXN0IjoiZGxyblhxVDFIQ1gxdnBwa3lRRGt\
            2aU4vdTlobUpBV3ptUGNweFVIcFF3Yy92aVlmQjU3SS8vaXd3UUtMVEd1QTBNSnQ3UHBYK095KzRmbDRTQUxLcnc9P\
            SIsInRva2VuIjoie1wiZXhwaXJlc1wiOjI1MzQwMjMwMDc5OTAwMCxcInR5cGVcIjpcImF1dGhcIixcInJlcXVpcmV\
            kVGFnXCI6XCJjaGFubmVsSWQ6MS9jLVwiLFwiYXBwbHlUYWdzXCI6W1wiXzlcXHRhLlxcXCJjYj1cIl19In0=
            """
        ),
        (
            EdgeTokenBuilder()
                .withApplicationId("<:9\\a0")
                .withSecret(":b")
                .expiresAt(milliseconds: 3964640027125575)
                .forRoom("\tc1=\"<-\n<'"),
            """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoiPDo5XFxhMCIsImRpZ2VzdCI6IkdWcU1YUUd1Yk1Rb2Q4NUFCWkdEdUFuclh\
            jUlEzWldQTFJLUnBzWVdBYkZoaHd1YkFTN2FTSVUwS2NvZUJEWUlLMEQ3NkFOdHZWUEtNTFRwWFRmRllnPT0iLCJ0b\
            2tlbiI6IntcImV4cGlyZXNcIjozOTY0NjQwMDI3MTI1NTc1LFwicmVxdWlyZWRUYWdcIjpcInJvb21JZDpcXHRjMT1\
            cXFwiPC1cXG48J1wifSJ9
            """
        ),
        (
            EdgeTokenBuilder()
                .withApplicationId("\"\"<")
                .withSecret("- /&0")
                .forPublishingOnly()
                .forStreamingOnly()
                .expiresAt(milliseconds: 1000),
            """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoiXCJcIjwiLCJkaWdlc3QiOiJJUUNLQi9lK3pRSDF2c05vbEluNU9wMHBRdC9\
            aN0hTTkFvOWpLbHFhT09HZWF5aDkrTW1hckdFd0l5V2R1dW1sU0Yya3FMMFJQMEM3QUZIOTZJMCtadz09IiwidG9rZ\
            W4iOiJ7XCJ0eXBlXCI6XCJzdHJlYW1cIixcImV4cGlyZXNcIjoxMDAwfSJ9
            """
        ),
        (
            EdgeTokenBuilder()
                .withApplicationId("/a<b\"/<>X\\")
                .withSecret("\tZ")
                .expiresAt(milliseconds: 2218270160269797)
                .applyTag("Y_:\\\"_X0"),
            """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoiL2E8YlwiLzw+WFxcIiwiZGlnZXN0IjoiQWhDNDlidm12STlFdGNyajJYYXh\
            pVTJ3UmswUnFWRDlUSnhLUHpkQ3lUSzN5OHcwekp0SDNDOXhHVVBnUlFRbzVsN1pQdUp3NTY2MlBCSHptRWdaaVE9P\
            SIsInRva2VuIjoie1wiZXhwaXJlc1wiOjIyMTgyNzAxNjAyNjk3OTcsXCJhcHBseVRhZ3NcIjpbXCJZXzpcXFxcXFx\
            cIl9YMFwiXX0ifQ==
            """
        ),
        (
            EdgeTokenBuilder()
                .withApplicationId("&a9Y\tab")
                .withSecret("Y1a ")
                .applyTag("0\t\":a/':\"&Z<")
                .forOriginStream("'<'0")
                .forChannel("0<&>Y1\n'.")
                .expiresAt(milliseconds: 253402300799000),
            """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoiJmE5WVx0YWIiLCJkaWdlc3QiOiJCQTVXUU5vU2ZPT29aaGFkbzVtbkdFNTB\
            FRkNrUTJPZ2t2bG5VclEvWWpORjFvVVVQL29LWGcwMVkvZDZyUTlMcXdQaU4xWXhzZURwSTVvcE1LYzcwdz09Iiwid\
            G9rZW4iOiJ7XCJhcHBseVRhZ3NcIjpbXCIwXFx0XFxcIjphLyc6XFxcIiZaPFwiXSxcIm9yaWdpblN0cmVhbUlkXCI\
            6XCInPCcwXCIsXCJyZXF1aXJlZFRhZ1wiOlwiY2hhbm5lbElkOjA8Jj5ZMVxcbicuXCIsXCJleHBpcmVzXCI6MjUzN\
            DAyMzAwNzk5MDAwfSJ9
            """
        ),
        (
            EdgeTokenBuilder()
                .withApplicationId("_000XY1Y\nc")
                .withSecret("/X::<")
                .forTag("\\X")
                .forRoom("b")
                .forRoomAlias("&\">\\Y0ZX0")
                .forRemoteAddress("Z- ")
                .forAuthenticationOnly()
                .withCapability("bY =cX_/=:")
                .expiresAt(milliseconds: 3193684059872120)
                .forSession("&.a'"),
            """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoiXzAwMFhZMVlcbmMiLCJkaWdlc3QiOiJ0WkpVZnNxeFh3MGtxSE1TZERMNmh\
            KQlBHNTlZUTNXRmVwc285VU5qMTk4bjFFbFpYTlJleEF6ZlVjWDVaZTJ2YS9FMGFRTDVhOCtGTHN0RTRYNmVVZz09I\
            iwidG9rZW4iOiJ7XCJyZXF1aXJlZFRhZ1wiOlwicm9vbUFsaWFzOiZcXFwiPlxcXFxZMFpYMFwiLFwicmVtb3RlQWR\
            kcmVzc1wiOlwiWi0gXCIsXCJ0eXBlXCI6XCJhdXRoXCIsXCJjYXBhYmlsaXRpZXNcIjpbXCJiWSA9Y1hfLz06XCJdL\
            FwiZXhwaXJlc1wiOjMxOTM2ODQwNTk4NzIxMjAsXCJzZXNzaW9uSWRcIjpcIiYuYSdcIn0ifQ==
            """
        ),
        (
            EdgeTokenBuilder()
                .withApplicationId("b0Z:=.\n./0&Z")
                .withSecret("\"a")
                .expiresAt(milliseconds: 253402300799000)
                .forStreamingOnly()
                .forAuthenticationOnly(),
            """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoiYjBaOj0uXG4uLzAmWiIsImRpZ2VzdCI6InJuclZFcEpwMWl6b3V1UUJYZGR\
            0M3NqOGFMUEJvOHdKR2xkNWZMWlA4VnBCMXpyMXFQRFRRY3JJODhXaUhRcXlOQ3ozUlpoRFhqeUJlNmx6ZnlMK2hnP\
            T0iLCJ0b2tlbiI6IntcImV4cGlyZXNcIjoyNTM0MDIzMDA3OTkwMDAsXCJ0eXBlXCI6XCJhdXRoXCJ9In0=
            """
        ),
        (
            EdgeTokenBuilder()
                .withApplicationId("\n\n")
                .withSecret("/Y_")
                .forTag("'&b19 ")
                .forChannel("_0 />")
                .expiresAt(milliseconds: 3509147524621329)
                .forAuthenticationOnly()
                .applyTag("0\tX/>aX&X\n1")
                .forAuthenticationOnly(),
            """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoiXG5cbiIsImRpZ2VzdCI6ImVzZFdNYzBMbXVKUGFiT3FrWkkwUnkvSGJNTnp\
            TdS8rMlFsRUpFTmxLc1AwN0lKSjZqWldpRHBSZC9XOWp1c1YvSXRDY3dYMjIzSzQvWUZ0YnVLa0tBPT0iLCJ0b2tlb\
            iI6IntcInJlcXVpcmVkVGFnXCI6XCJjaGFubmVsSWQ6XzAgLz5cIixcImV4cGlyZXNcIjozNTA5MTQ3NTI0NjIxMzI\
            5LFwidHlwZVwiOlwiYXV0aFwiLFwiYXBwbHlUYWdzXCI6W1wiMFxcdFgvPmFYJlhcXG4xXCJdfSJ9
            """
        ),
        (
            EdgeTokenBuilder()
                .withApplicationId("=/\"b0")
                .withSecret("/aX999_<<\":")
                .withCapability("<&&b:\\:-")
                .forPublishingOnly()
                .forAuthenticationOnly()
                .forRoom("/&-.\"-\\'9")
                .forRoomAlias("- \t\n-aa1>")
                .expiresAt(milliseconds: 3682192099515676),
            """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoiPS9cImIwIiwiZGlnZXN0IjoiS2lpdVNLVlM4U1EvUEg0V0tCY2M5STNHUGF\
            vSkpzVC9TbWw1QjdsUjdQQmticHdxRXRUZmFOSjNuR2RPRFNSMFJqc0ZHMjRWSUJ6bytnT3JvVVR4dnc9PSIsInRva\
            2VuIjoie1wiY2FwYWJpbGl0aWVzXCI6W1wiPCYmYjpcXFxcOi1cIl0sXCJ0eXBlXCI6XCJhdXRoXCIsXCJyZXF1aXJ\
            lZFRhZ1wiOlwicm9vbUFsaWFzOi0gXFx0XFxuLWFhMT5cIixcImV4cGlyZXNcIjozNjgyMTkyMDk5NTE1Njc2fSJ9
            """
        ),
        (
            EdgeTokenBuilder()
                .withApplicationId("_")
                .withSecret("/b>\n_c1:\n\\91")
                .expiresAt(milliseconds: 1),
            """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoiXyIsImRpZ2VzdCI6IlFvdFN5Snd6YlFlbFU5bFZiZ1dXd3l6S0NFOWVFd1J\
            DSGxmTDRDVXpydkRiWUp2NndqNjJndlNybjFFTU5lalNVd1pNbzJRR2JPS0M0YmtjL0h1YktRPT0iLCJ0b2tlbiI6I\
            ntcImV4cGlyZXNcIjoxfSJ9
            """
        ),
        (
            EdgeTokenBuilder()
                .withApplicationId("\tXb&:=X0b.")
                .withSecret("YX.=Y :=&")
                .forTag("\\X\"-")
                .expiresAt(milliseconds: 253402300799000)
                .withCapability("\n>\t>0'9101\"")
                .withCapability("0 b'ba99:a&")
                .withCapability("X")
                .forRoomAlias("<9cc"),
            """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoiXHRYYiY6PVgwYi4iLCJkaWdlc3QiOiI3RnJoWEExZ0xnSmEvMm5rbzc4VXk\
            5cjFVR0hzY2VCZysrUUFEdHJJZ1Rjd2VQV0dlUzZkem14RTRNMDVXRkFQZHdIUU43R0U5UmE4VmRYVXMxYXFldz09I\
            iwidG9rZW4iOiJ7XCJyZXF1aXJlZFRhZ1wiOlwicm9vbUFsaWFzOjw5Y2NcIixcImV4cGlyZXNcIjoyNTM0MDIzMDA\
            3OTkwMDAsXCJjYXBhYmlsaXRpZXNcIjpbXCJcXG4+XFx0PjAnOTEwMVxcXCJcIixcIjAgYidiYTk5OmEmXCIsXCJYX\
            CJdfSJ9
            """
        ),
        (
            EdgeTokenBuilder()
                .withApplicationId("Z<1'.\\\\.0__")
                .withSecret("\nYcX=&0=")
                .forSession("'.>X=_c")
                .expiresAt(milliseconds: 747790500857909)
                .forTag(">\\ =-ac-0 ")
                .forChannel("c\t-\\\n\t_-Y1")
                .withCapability("\n_.X_\t=>& 9")
                .withCapability("\"-=_1/\n\""),
            """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoiWjwxJy5cXFxcLjBfXyIsImRpZ2VzdCI6IjJUZlIrUDdJdDljemVUQzQ3TDA\
            2OWNYbnVCRTBGWEVRQlY1MkdVTXhSc2tzcWtsVWpKMFlvNW5EaDdRL2JtQXdXaXNzYjJma3N6WTZZUkxmVm41SjFnP\
            T0iLCJ0b2tlbiI6IntcInNlc3Npb25JZFwiOlwiJy4+WD1fY1wiLFwiZXhwaXJlc1wiOjc0Nzc5MDUwMDg1NzkwOSx\
            cInJlcXVpcmVkVGFnXCI6XCJjaGFubmVsSWQ6Y1xcdC1cXFxcXFxuXFx0Xy1ZMVwiLFwiY2FwYWJpbGl0aWVzXCI6W\
            1wiXFxuXy5YX1xcdD0+JiA5XCIsXCJcXFwiLT1fMS9cXG5cXFwiXCJdfSJ9
            """
        ),
        (
            EdgeTokenBuilder()
                .withApplicationId("c..a")
                .withSecret(" />/0\n")
                .applyTag("Z>-a':c><")
                .forRoomAlias("<c_c9")
                .withCapability("'")
                .withCapability("YX\n':1\t1\\\"_")
                .withCapability("_c")
                .forChannel("/.__ Y\\\\")
                .expiresAt(milliseconds: 1000)
                .forChannel(" .a/c=<")
                .forSession("a\".\taX::Y1\n"),
            """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoiYy4uYSIsImRpZ2VzdCI6IkkwTmRDNGhUT0t4YzlYaXVNMmh5djVDSTBubGF\
            CbVBIM3ZiT0I4V25Fbk5sTDB2UHZDdStEYm1OR3JJRmlqTWVXV2x3M3pKV2x4YlZQYTJUOWptZ3NnPT0iLCJ0b2tlb\
            iI6IntcImFwcGx5VGFnc1wiOltcIlo+LWEnOmM+PFwiXSxcInJlcXVpcmVkVGFnXCI6XCJjaGFubmVsSWQ6IC5hL2M\
            9PFwiLFwiY2FwYWJpbGl0aWVzXCI6W1wiJ1wiLFwiWVhcXG4nOjFcXHQxXFxcXFxcXCJfXCIsXCJfY1wiXSxcImV4c\
            GlyZXNcIjoxMDAwLFwic2Vzc2lvbklkXCI6XCJhXFxcIi5cXHRhWDo6WTFcXG5cIn0ifQ==
            """
        ),
    ]
}

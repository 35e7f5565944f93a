from .mcp import (
    HttpServer as HttpServer,
    McpTools as McpTools,
    StdioServer as StdioServer,
    mcp_tools as mcp_tools,
    parse_servers as parse_servers,
    read_servers as read_servers,
)

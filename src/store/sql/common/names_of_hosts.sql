SELECT node.id, node.host
FROM node
ORDER BY node.id
